"""`[routes.rota]`: what it holds, and what is said of one that can't work."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared.settings import Settings, load
from shared.settings.sections import Rota
from tests.pure.settings.environments import GOOD, refusal

ANN, BEN = "U0ANN00001", "U0BEN00002"
PEOPLE = f'people = ["{ANN}", "{BEN}"]'


def read(tmp_path: Path, *lines: str) -> Settings:
    return load(environ=GOOD | {"OUTREACH_CONFIG": _file(tmp_path, lines)})


def _file(tmp_path: Path, lines: tuple[str, ...]) -> str:
    file = tmp_path / "outreach.toml"
    file.write_text("\n".join(lines))
    return str(file)


def test_a_rota_of_the_routes_is_that_of_every_channel_but_those_with_their_own(tmp_path: Path) -> None:
    lines = ("[routes.rota]", PEOPLE, "[routes.channels.C0EMEA0001.rota]", f'people = ["{BEN}"]')
    routes = read(tmp_path, *lines, "[routes.channels.C0APAC0001]", 'mention = "here"').routes
    usual = Rota(people=(ANN, BEN))
    assert routes.channel_policy("C0ALERTS01").rota == usual
    assert routes.channel_policy("C0APAC0001").rota == usual
    own = routes.channel_policy("C0EMEA0001").rota
    assert own
    assert (own.name, own.people) == ("C0EMEA0001", (BEN,))
    assert set(routes.rotas) == {"routes", "C0EMEA0001"}


@pytest.mark.parametrize(
    ("lines", "name", "says"),
    [
        ((), "people", "is missing"),
        (("people = []",), "people", "at least 1 item"),
        (('people = ["@ann"]',), "people", "is not the id of a person."),
        (('people = ["S0SALESAES"]',), "people", "Copy member ID"),
        ((PEOPLE, 'peeple = "x"'), "peeple", "Did you mean people?"),
        ((PEOPLE, 'pass_after = "soon"'), "pass_after", "is not a duration."),
    ],
)
def test_a_rota_that_cannot_work_is_refused_with_what_would(
    tmp_path: Path, lines: tuple[str, ...], name: str, says: str
) -> None:
    file = _file(tmp_path, ("[routes.rota]", *lines))
    (problem, *_) = refusal(GOOD | {"OUTREACH_CONFIG": file}).problems
    assert name in problem.name
    assert says.lower() in f"{problem.problem} {problem.fix}".lower()
