"""Answers that the service's document doesn't show are read leniently, and those that can't be read say how to cure it."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from tests.kit import Account, Run, Shell

SEQUENCE = {"id": "sq_1", "name": "Spring", "status": "active", "steps": 3}
SHAPES: dict[str, Any] = {
    "bare list": [SEQUENCE],
    "under data": {"data": [SEQUENCE]},
    "under its name": {"sequences": [SEQUENCE]},
    "camel case": {"data": [{"id": "sq_1", "name": "Spring", "status": "active", "stepCount": 3}]},
    "synonym": {"data": [{"id": "sq_1", "title": "Spring", "state": "active", "step_count": 3}]},
    "numbers as text": {"data": [{**SEQUENCE, "steps": "3"}]},
    "fields added": {"data": [{**SEQUENCE, "owner": {"id": 7}}], "total": 1},
}


async def listed(account: Account, shell: Shell, command: str) -> Run:
    shell.use(account.environ)
    return await shell.type(command, "--json")


@pytest.mark.parametrize("shape", SHAPES)
async def test_a_plausible_shape_is_read(account: Account, shell: Shell, shape: str) -> None:
    account.answer("GET /sequences", SHAPES[shape])
    run = await listed(account, shell, "sequences")
    assert run.code == 0, run.err
    (read,) = run.data
    assert {name: read[name] for name in SEQUENCE} == SEQUENCE


async def test_what_is_missing_is_unknown_and_not_zero(account: Account, shell: Shell) -> None:
    account.answer("GET /inboxes", {"data": [{"id": "ib_2"}, {"id": "ib_1", "email": "sam@mail.example"}]})
    run = await listed(account, shell, "inboxes")
    assert run.code == 0, run.err
    # Without an address it can still be told from others by its id.
    for read, email in zip(run.data, ("ib_2", "sam@mail.example"), strict=True):
        assert (read["email"], read["health_score"], read["daily_limit"]) == (email, None, None)


async def test_an_unknown_status_is_shown_as_it_is(account: Account, shell: Shell) -> None:
    account.answer("GET /sequences", {"data": [{**SEQUENCE, "status": "archived"}]})
    assert (await listed(account, shell, "sequences")).data[0]["status"] == "archived"


async def test_what_cannot_be_read_names_the_line_that_cures_it(account: Account, shell: Shell) -> None:
    account.answer("GET /sequences", {"data": [{"sequence_key": "sq_1", "caption": "Spring"}]})
    run = await listed(account, shell, "sequences")
    assert run.code == 1
    assert "/sequences" in run.err
    assert "sequence_key" in run.err
    assert "[fields.sequence]" in run.err


async def test_a_line_of_fields_reads_an_odd_shape(account: Account, shell: Shell) -> None:
    account.answer(
        "GET /inboxes", {"data": [{"id": "ib_1", "email": "a@b.example", "metrics": {"well": 71.5}}]}
    )
    file = shell.home / "outreach.toml"
    file.write_text('[fields.inbox]\nhealth_score = "metrics.well"\n', encoding="utf-8")
    file.chmod(0o600)
    shell.use({"OUTREACH_CONFIG": str(file)})
    run = await listed(account, shell, "inboxes")
    assert run.code == 0, run.err
    assert run.data[0]["health_score"] == 71.5


async def test_an_answer_is_bounded_while_it_is_unpacked(account: Account, shell: Shell) -> None:
    account.answer(
        "GET /sequences", gzip.compress(b" " * 12_000_000 + b"[]"), headers={"Content-Encoding": "gzip"}
    )
    run = await listed(account, shell, "sequences")
    assert run.code == 1
    assert run.out == ""
    assert "more than 10 MB" in run.err
    assert "[fields]" not in run.err, "no line of the settings would help"


async def test_a_redirect_is_not_followed(account: Account, shell: Shell) -> None:
    account.answer("GET /sequences", {}, status=307, headers={"Location": f"{account.base_url}/inboxes"})
    run = await listed(account, shell, "sequences")
    assert run.code == 1
    assert account.asked("GET", "/inboxes") == []


async def test_a_cell_of_a_csv_is_no_formula(account: Account, shell: Shell) -> None:
    account.answer("GET /sequences", {"data": [{**SEQUENCE, "name": "=cmd()"}]})
    shell.use(account.environ)
    run = await shell.type("sequences", "--csv")
    assert run.code == 0
    assert not any(cell.startswith("=") for line in run.out.splitlines() for cell in line.split(","))


async def test_a_name_moves_no_cursor_of_a_terminal(account: Account, shell: Shell) -> None:
    account.answer("GET /sequences", {"data": [{**SEQUENCE, "name": "Spr\x1b[2Jing"}]})
    shell.use(account.environ)
    run = await shell.type("sequences")
    assert "\x1b[2J" not in run.out
