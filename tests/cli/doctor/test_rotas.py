"""The doctor names people in a rota who can't get turns, with the nearest that would do."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.slack.web_api import open_web_api
from cli.doctor import rotas
from sandbox.slack import seed
from sandbox.slack.server import SlackStandIn
from shared.domain.card import Tone
from shared.settings import Settings, load
from tests.shared.settings.environments import GOOD


def settings(tmp_path: Path, *lines: str) -> Settings:
    file = tmp_path / "outreach.toml"
    file.write_text("\n".join(["[routes.rota]", *lines]))
    return load(environ=GOOD | {"OUTREACH_CONFIG": str(file)})


async def found(read: Settings) -> list[tuple[Tone, str, str]]:
    async with SlackStandIn(0) as slack:
        token, url = (slack.announcement[f"slack_{name}"] for name in ("bot_token", "api_url"))
        async with open_web_api(token, base_url=url) as api:
            return [(one.tone, one.found, one.fix) for one in await rotas.people(api, read)]


async def test_people_who_can_claim_pass(tmp_path: Path) -> None:
    read = settings(tmp_path, f'people = ["{seed.ANN.id}", "{seed.BEN.id}"]')
    ((tone, words, _),) = await found(read)
    assert (tone, words) == (Tone.GOOD, "Slack knows everyone in it (2), and they can claim replies")


@pytest.mark.parametrize(
    ("person", "words", "fix"),
    [
        ("U0ANN00002", "names U0ANN00002, whom Slack doesn't know", "Did you mean U0ANN00001 (@ann)?"),
        (seed.GUS.id, "(@gus), who can't claim replies", "Remove them, or allow it in [roles]."),
    ],
)
async def test_who_cannot_get_a_turn_is_named_with_the_nearest(
    tmp_path: Path, person: str, words: str, fix: str
) -> None:
    ((tone, said, cure),) = await found(settings(tmp_path, f'people = ["{seed.ANN.id}", "{person}"]'))
    assert tone is Tone.BAD
    assert said.startswith("[routes.rota] names")
    assert words in said
    assert cure == fix
