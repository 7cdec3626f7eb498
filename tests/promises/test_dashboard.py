"""The dashboard: what its keys and its command line change at the service, and what takes it back."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.kit import Account, Shell, Team, interested
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
    # A yes of the service that nothing follows is told once it is read again.
    account.answer("PATCH /sequences/{id}", b"", times=1)
    await screen.press("p")
    await screen.press("y")
    await screen.until("is active, not paused")
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
    # An offer that is chosen from the list stands in the line, to be typed on.
    await screen.press("colon")
    await screen.type("pau")
    await screen.press("down", "enter")
    await screen.type("webinar")
    await screen.press("enter")
    for one in before:
        if "webinar" in one["name"].lower():
            await screen.until(one["id"])
    # The arrows go from "Back" to a choice and back again.
    await screen.press("up", "down", "enter", "y")
    assert await account.sequences() == before


async def test_the_past_changes_nothing_by_key_or_command(account: Account, screen: Screen) -> None:
    before = await account.sequences()
    await screen.until("DOMAINS")
    await screen.go_back()
    await screen.press(*["left_square_bracket"] * 2)
    await screen.until("History starts at ")
    for line in ("pause all", f"pause {before[0]['id']}", "undo"):
        await say(screen, line)
        await screen.until("You are viewing the past")
    await screen.press("2")
    await screen.until(before[0]["name"][:12])
    await screen.press("p", "y", "u")
    await screen.press("1", "p", "y")
    assert await account.sequences() == before
    assert not account.asked("PATCH")
    await screen.press("2", "escape")
    assert "› Sequences" in await screen.until("p pause")


async def test_another_key_is_named_wherever_a_key_is_named(
    account: Account, tmp_path: Path, no_idle_waiting: None
) -> None:
    # `y` is also a dialog's yes, and has to stay it there.
    toml = "[dashboard.keys]\nacknowledge = 'y'\nundo = 'ctrl+z'\npause = 'b'\nfiltre = 'x'\n"
    async with open_screen(account, tmp_path, toml=toml, tip="Ada answers") as screen:
        await screen.until("Ada answers")
        await screen.until("filtre isn't a key name; did you mean filter?")
        await screen.until("b pause")
        await account.control("POST", "events", workspace="acme", kind="domain.paused", count=1)
        await screen.refresh()
        await screen.until("1 alarm  y: acknowledge")
        await screen.press("question_mark")
        for shown in ("b  ", "^z  ", "y  "):
            assert shown in screen.text
        await screen.press("escape", "2", "b", "y")
        await screen.until("Press ^z to undo")


async def test_the_path_the_keys_and_the_hint_of_an_alarm_can_be_clicked(
    account: Account, screen: Screen
) -> None:
    await screen.until("DOMAINS")
    await account.control("POST", "events", workspace="acme", kind="domain.paused", count=2)
    await screen.refresh()
    await screen.until("2 alarms")
    # A page of one domain is about its alarm alone.
    for keys, shown in ((["enter"] * 2, "1 alarm "), (["escape"], "2 alarms "), (["escape"], "1 alarm ")):
        await screen.press(*keys, "a")
        await screen.until(shown)
    # On a domain that has none it is about all of them.
    await screen.press("pagedown")
    await screen.click("a: acknowledge")
    await screen.until("✓ acknowledged")
    await screen.press("enter", "enter")
    path = (await screen.until("@")).splitlines()[0]
    domain, inbox = re.findall(r"› (\S+)", path)
    assert inbox.endswith(f"@{domain}")
    await screen.click(f"{domain} ›")
    await screen.until(f" default › {domain}  ")
    await screen.click("default ›")
    await screen.until("INBOXES OF")
    await screen.click("4 incidents")
    await screen.until("default › Incidents")


async def test_replies_that_cannot_be_worked_on_say_why_and_what_a_lead_wrote_does_nothing(
    team: Team, tmp_path: Path
) -> None:
    hostile = "\x1b[2J[bold]hi[/bold]\u202egnp \x1b]0;t\x07"
    await team.deliver(interested("Ada", reply=hostile))
    card = await team.card("Ada")
    for environ, settings, why in (
        ({}, f"{KNOWN}read_only = true\n", "Read-only: This dashboard is read-only."),
        ({"SLACK_BOT_TOKEN": ""}, KNOWN, "Set SLACK_BOT_TOKEN here, too"),
    ):
        bot = {**team.environ, **environ}
        async with open_screen(team.account, tmp_path, bot=bot, toml=settings) as screen:
            await look_in_vain(screen, why)
    async with open_screen(team.account, tmp_path, bot=team.environ, toml=KNOWN, is_viewer=True) as screen:
        await screen.press("3")
        assert "hi[/bold]" not in await screen.until("which this dashboard doesn't share")
        await say(screen, "pause all")
        await screen.until("This dashboard is read-only")
    # Who may do what is read anew with the page.
    file = tmp_path / "dashboard.toml"
    async with open_screen(team.account, tmp_path, bot=team.environ) as screen:
        for settings, why in REFUSED:
            file.write_text(settings)
            await look_in_vain(screen, why)
        assert "Claim" in (await team.present(card)).buttons
        await team.stop()
        file.write_text(KNOWN)
        await screen.press("1", "3")
        await screen.until("No bot is running: cards in Slack change once it runs again.")
        await screen.until("c claim")
        await screen.press("c")
        await screen.until("none recorded")  # without a bot, none is known to be claimed
    await team.start()
    await team.changed(card, "claimed by @ann")
    assert "@ann · dashboard · claim" in (await team.ask("audit")).shown


async def look_in_vain(screen: Screen, why: str) -> None:
    """Open the page of replies, and press all keys that would change one."""
    await screen.press("1", "3")
    await screen.until(why)
    page = await screen.until("[bold]hi[/bold]")
    assert not re.search("[\x1b\x07\u202e]", page)
    assert "claim" not in page.splitlines()[-1], "what would be refused isn't shown"
    await screen.press("c", "d", "z", "x", "A")
    assert "› Replies" in screen.text


KNOWN = '[dashboard]\nslack_user = "U0ANN00001"\n'
REFUSED = (
    ("", "Read-only: "),
    (KNOWN.replace("ANN00001", "GUS00005"), "Read-only: @gus may not claim replies. Guests of this Slack"),
    (KNOWN.replace("ANN00001", "NOBODY99"), "Slack didn't say who that is."),
    (KNOWN.replace("ANN00001", "OUTREACH"), "@outreach is a bot."),
    (f'{KNOWN}[roles]\nadmin = ["U0BEN00002"]\noperator = ["U0BEN00002"]\n', "@ann may not claim replies."),
)


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
        assert screen.ground(1) == "alarm"
        assert re.search(r"(?m)^ *‖ +\S+ +paused", text), "the domain that can't send"
        await screen.press("a")
        await screen.until("✓ acknowl")
        assert screen.ground(1) == "caution"
        await screen.go_back()
        assert screen.ground(0) == "caution"


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
    # What isn't of one domain has a lane, but no page.
    await screen.press("4")
    await screen.until("?  workspace")
    await screen.press("enter")
    assert "› Incidents  " in screen.text


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
    assert "INBOXES OF" in drawn_in(picture)
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
    page = (await shell.type("dashboard", "--once")).out
    assert "gnp.exe" in page
    assert name not in page
