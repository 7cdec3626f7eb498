"""The dashboard: what its keys and its command line change at the service, and what takes it back."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.kit import Account, Shell
from tests.kit.screen import Screen, open_screen
from tests.kit.waiting import until


async def by_the_service(account: Account, named: str, *, paused: bool) -> None:
    """Wait until the service has it so."""

    async def is_so() -> bool:
        return await account.is_paused(named) == paused

    await until(is_so)


async def say(screen: Screen, line: str) -> None:
    await screen.press("colon")
    await screen.type(line)
    await screen.press("enter")


async def test_p_asks_names_what_it_pauses_and_u_takes_it_back(account: Account, screen: Screen) -> None:
    sequence = await account.sequence()
    await screen.until("DOMAINS")
    await screen.press("2")
    await screen.until(sequence["name"][:12])
    await screen.press("p")
    await screen.until(f"Pause {sequence['name']}")
    assert not await account.is_paused(sequence["id"])
    await screen.press("y")
    await by_the_service(account, sequence["id"], paused=True)
    await screen.until("Press u to undo")
    await screen.press("u")
    await by_the_service(account, sequence["id"], paused=False)


async def test_all_is_always_all_and_its_undo_resumes_all_of_them(account: Account, screen: Screen) -> None:
    active = [one["id"] for one in await account.sequences() if one["status"] == "active"]
    await screen.until("DOMAINS")
    await say(screen, "pause all")
    await screen.until(f"Pause {len(active)} sequences?")
    await screen.press("y")
    for key in active:
        await by_the_service(account, key, paused=True)
    await screen.until("Press u to undo")
    await screen.press("u")
    for key in active:
        await by_the_service(account, key, paused=False)
    assert [one["id"] for one in await account.sequences() if one["status"] == "active"] == active


async def test_a_name_that_several_have_asks_which_and_changes_nothing(
    account: Account, screen: Screen
) -> None:
    before = await account.sequences()
    await screen.until("DOMAINS")
    await say(screen, "pause webinar")
    for one in before:
        if "webinar" in one["name"].lower():
            await screen.until(one["id"])
    await screen.press("escape")
    assert await account.sequences() == before


async def test_the_past_changes_nothing_by_key_or_command(account: Account, screen: Screen) -> None:
    before = await account.sequences()
    await screen.until("DOMAINS")
    await screen.go_back()
    for line in ("pause all", f"pause {before[0]['id']}", "undo"):
        await say(screen, line)
        await screen.until("You are viewing the past")
    await screen.press("2", "p", "y", "u")
    await screen.press("1", "p", "y")
    assert await account.sequences() == before
    assert not account.asked("PATCH")
    await screen.press("escape")
    await screen.until("p pause")


@pytest.mark.parametrize("size", [(40, 12), (80, 24)])
async def test_a_narrow_screen_tells_verdict_and_alarm(
    account: Account, tmp_path: Path, no_idle_waiting: None, size: tuple[int, int]
) -> None:
    async with open_screen(account, tmp_path, size=size) as screen:
        await screen.until("healthy")
        await account.control("POST", "events", workspace="acme", kind="domain.paused", count=1)
        await screen.refresh()
        text = await screen.until("paused")
        assert re.match(r" *◆ 1 of \d+ domains paused", text.splitlines()[1])
        assert "1 alarm" in text.splitlines()[1]
        assert re.search(r"(?m)^ *‖ +\S+ +paused", text), "the domain that can't send"


async def test_the_page_of_a_sequence_lists_its_own_changes_and_no_others(
    account: Account, screen: Screen
) -> None:
    first, second = await on_the_page_of_sequences(screen)
    await screen.press("p")
    await screen.until(f"Pause {first}")
    await screen.press("y")
    await screen.until("Press u to undo")
    await screen.press("down", "enter")
    page = await screen.until(f"› {second}")
    assert CHANGE.search(page) is None
    await screen.press("escape", "up", "enter")
    await screen.until(f"› {first}")
    assert CHANGE.search(await screen.until("  paused (as noticed)"))


CHANGE = re.compile(r"\d\d:\d\d  paused")


async def on_the_page_of_sequences(screen: Screen) -> list[str]:
    """The names of the first two active sequences, in the order of the page; the cursor is on the first."""
    await screen.until("DOMAINS")
    await screen.press("2")
    page = await screen.until("► active")
    return re.findall(r"► active +(\S.*?)  ", page)[:2]


def drawn_in(picture: Path) -> str:
    """The words of a picture."""
    return "".join(ET.fromstring(picture.read_text()).itertext()).replace("\xa0", " ")


async def test_once_draws_the_board_and_the_incident_since_an_earlier_picture(
    account: Account, shell: Shell, tmp_path: Path
) -> None:
    shell.use(account.environ)
    picture = tmp_path / "board.svg"
    run = await shell.type("dashboard", "--once", "--svg", str(picture))
    assert (run.code, run.out, run.err) == (0, "", "")
    assert "DOMAINS" in drawn_in(picture)
    words = ("dashboard", "--once", "--incident", "6h", "--svg", str(picture))
    assert (await shell.type(*words)).code == 0
    assert "healthy" in drawn_in(picture)
    assert "paused for" not in drawn_in(picture)
    await account.control("POST", "events", workspace="acme", kind="domain.paused", count=1)
    assert (await shell.type(*words)).code == 0
    after = drawn_in(picture)
    assert re.search(r"INCIDENTS \d+  6 h", after)
    assert re.search(r"paused for \d+ s · \d+ inboxes stopped", after)


async def test_once_without_a_service_names_what_could_not_be_read_and_fails(
    account: Account, shell: Shell, no_idle_waiting: None
) -> None:
    shell.use({**account.environ, "OUTREACH_API_KEY": "live_other"})
    run = await shell.type("dashboard", "--once", "--json")
    assert run.code == 1
    assert run.err.startswith("Some data couldn't be read.\n  ")
    assert run.data["inboxes"] is None
    assert all(reading["error"] for reading in run.data["readings"].values())


@pytest.mark.parametrize("terminal", [True, False])
async def test_json_is_escaped_on_a_terminal_and_exact_in_a_pipe(
    account: Account, shell: Shell, monkeypatch: pytest.MonkeyPatch, *, terminal: bool
) -> None:
    name = "\x9b31m\u202egnp.exe"
    hostile = {"id": "sq_1", "name": name, "status": "active", "steps": 3}
    account.answer("GET /sequences", {"data": [hostile], "next_cursor": None})
    # A terminal obeys what a name holds; a program behind a pipe needs the name as it is.
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: terminal)
    shell.use(account.environ)
    run = await shell.type("dashboard", "--once", "--json")
    assert run.data["sequences"][0]["name"] == name
    assert (name in run.out) is not terminal
