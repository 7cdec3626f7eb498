"""Changes that an assistant proposes: nothing happens without the person's own click."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.slack.state import seed
from tests.bot.assistants.clients import Assistants, Bearer, open_assistants
from tests.bot.fake_service import Remote
from tests.bot.interactions.test_clicks import click
from tests.waiting import until

SEQUENCES = ("Q3 founders", "Q3 CTO", "EMEA agencies")
CONFIRM = '[mcp]\nchanges = "confirm"\n'


@pytest.fixture
async def assistants(tmp_path: Path, remote: Remote) -> AsyncIterator[Assistants]:
    async with open_assistants(tmp_path, settings=CONFIRM, OUTREACH_BASE_URL=remote.url) as opened:
        yield opened


def statuses(remote: Remote) -> list[str]:
    return [one["status"] for one in remote.sequences.values()]


async def question_to(assistants: Assistants, user: str, words: str) -> dict[str, Any]:
    """The message with these words in the person's direct messages, once it is there."""

    async def there() -> dict[str, Any] | None:
        known = await assistants.told(user)
        return next((one for one in known if words in json.dumps(one, ensure_ascii=False)), None)

    return dict(await until(there))


async def result_of(assistants: Assistants, user: str, asked: Any) -> dict[str, Any]:
    (name,) = asked.structured_content["proposals"]
    found = await assistants.ask(user, "proposal_result", {"proposal": name})
    return dict(found.structured_content)


async def test_a_proposed_pause_waits_for_the_persons_click_and_can_be_undone(
    assistants: Assistants, remote: Remote
) -> None:
    asked = await assistants.ask(seed.BEN.id, "pause", {"target": ["Q3", "founders"], "reason": "a holiday"})
    assert not asked.is_error
    assert asked.structured_content["state"] == "waiting for confirmation"
    assert not re.search(r"\bq_", json.dumps(asked.structured_content)), "what confirms it is for the person"
    message = await question_to(assistants, seed.BEN.id, "Your assistant proposes: pause")
    assert "pause sq_0001 reason" in json.dumps(message)
    assert statuses(remote) == ["active"] * 3
    assert (await result_of(assistants, seed.BEN.id, asked))["state"] == "waiting for confirmation"

    (done,) = await click(assistants.bot, message, "Pause", user=seed.BEN.id)
    assert statuses(remote) == ["paused", "active", "active"]
    entries = await assistants.audit()
    assert [(one.command, one.effect) for one in entries if one.effect != "read"] == [
        ('pause sq_0001 reason "a holiday"', "paused"),
        ('pause Q3 founders reason "a holiday"', "proposed"),
    ]
    assert {(one.actor.id, one.actor.via) for one in entries} == {(seed.BEN.id, "assistant")}
    found = await assistants.ask(
        seed.BEN.id, "proposal_result", {"proposal": asked.structured_content["proposals"][0]}
    )
    assert found.structured_content["state"] == "confirmed"
    assert "Q3 founders is paused" in json.dumps(found.structured_content["result"])

    await click(assistants.bot, done, "Undo", user=seed.BEN.id)
    assert statuses(remote) == ["active"] * 3


async def test_nobody_else_can_confirm_or_ask_for_the_result(assistants: Assistants, remote: Remote) -> None:
    asked = await assistants.ask(seed.BEN.id, "pause", {"target": ["Q3", "CTO"]})
    message = await question_to(assistants, seed.BEN.id, "Your assistant proposes")
    (name,) = asked.structured_content["proposals"]
    other = await assistants.ask(seed.ANN.id, "proposal_result", {"proposal": name})
    assert other.is_error
    assert assistants.bot.running is not None
    store = assistants.bot.running.store
    (nonce,) = {
        part
        for part in json.dumps(message).replace("\\", "").replace('"', " ").split()
        if part.startswith("q_")
    }
    assert (await store.confirmations.look(nonce, seed.ANN.id)).verdict == "not yours"
    assert statuses(remote) == ["active"] * 3


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("pause", {"target": ["Q3", "founders"], "confirm": True}),
        ("pause", {"target": ["all"], "confirmed": True}),
        ("pause", {"target": ["all", "--yes"]}),
        ("pause", {"target": ["Q3"]}),  # several fit
        ("pause", {"target": ["nothing like it"]}),
        ("undo", {}),  # of nothing
        ("pause", {"target": ["Q3", "founders", "on", "a", "holiday"]}),  # the rest is no name
        ("pause", {"target": ["sq_0001"], "reason": "a" * 450 + " b" * 80}),  # nobody would read it all
    ],
)
async def test_what_can_not_be_done_is_told_and_asks_nobody(
    assistants: Assistants, remote: Remote, tool: str, arguments: dict[str, Any]
) -> None:
    found = await assistants.ask(seed.BEN.id, tool, arguments)
    assert "proposals" not in found.structured_content
    assert await assistants.told(seed.BEN.id) == []
    assert statuses(remote) == ["active"] * 3
    assert [one.effect for one in await assistants.audit()] == ["refused"]


async def test_a_proposal_about_several_shows_what_it_touches(assistants: Assistants, remote: Remote) -> None:
    asked = await assistants.ask(seed.BEN.id, "pause", {"target": ["all"]})
    assert asked.structured_content["proposals"]
    message = await question_to(assistants, seed.BEN.id, "Only @ben can confirm this")
    assert statuses(remote) == ["active"] * 3
    await click(assistants.bot, message, "Pause all 3", user=seed.BEN.id)
    assert statuses(remote) == ["paused"] * 3
    newest = (await assistants.audit())[0]
    assert (newest.actor.id, newest.actor.via, newest.effect) == (seed.BEN.id, "assistant", "paused")


async def test_proposals_are_limited(tmp_path: Path, remote: Remote) -> None:
    limits = f"{CONFIRM}changes_an_hour = 1\n"
    async with open_assistants(tmp_path, settings=limits, OUTREACH_BASE_URL=remote.url) as assistants:
        await assistants.ask(seed.BEN.id, "pause", {"target": ["Q3", "founders"]})
        second = await assistants.ask(seed.BEN.id, "pause", {"target": ["Q3", "CTO"]})
        assert "limit of 1 proposed changes an hour" in json.dumps(second.structured_content)


async def test_a_role_that_may_not_change_is_offered_no_change(tmp_path: Path, remote: Remote) -> None:
    roles = f'{CONFIRM}[roles]\nadmin = ["{seed.ANN.id}"]\noperator = ["{seed.ANN.id}"]\n'
    async with open_assistants(tmp_path, settings=roles, OUTREACH_BASE_URL=remote.url) as assistants:
        found = await assistants.ask(seed.BEN.id, "pause", {"target": ["Q3", "founders"]})
        assert found.is_error
        assert await assistants.told(seed.BEN.id) == []
        assert [one.result for one in await assistants.audit()] == ["refused: role"]


async def test_a_token_can_propose_nothing(assistants: Assistants, remote: Remote) -> None:
    secret = await assistants.token()
    async with assistants.connected(Bearer(secret)) as client:
        assert "pause" not in {tool.name for tool in (await client.list_tools()).tools}
        assert (await client.call_tool("pause", {"target": ["Q3", "founders"]})).is_error
    assert statuses(remote) == ["active"] * 3
