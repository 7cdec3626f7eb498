"""The dashboard, whole: each line of a script is done as a person does it, and the screen compared to the last word."""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.kit import Account, Team, bounced, interested
from tests.kit.clock import CLOCK, clock_of_the_loop
from tests.kit.drawn import drawn_page
from tests.kit.screen import Screen, open_screen
from tests.kit.waiting import until


@pytest.fixture(autouse=True)
async def moment_of_the_texts(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """The texts have moments of this day in them, and who looks at them."""
    monkeypatch.setenv("LOGNAME", "ann")
    async with clock_of_the_loop(datetime(2026, 11, 18, 14, 5, tzinfo=UTC)):
        yield


SCRIPTS: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "only reading, with other keys": (
        {
            "toml": "[dashboard]\nread_only = true\nascii = true\n[dashboard.keys]\nfiltre = 'x'\nfilter = 'x'\n"
        },
        """
        2 p
        x
        ' webinar
        escape
        3
        c
        colon
        ' pause all
        enter
        40x12
        """,
    ),
    "a wall": (
        {"wall": True},
        """
        ! domain.paused
        = not sending
        a
        1
        160x30
        enter
        enter
        = Sent today
        160x31
        1
        100x30
        enter
        59x19
        1
        w
        100x30
        99x30
        60x20
        59x20
        """,
    ),
    "every page of a small terminal": (
        {"size": (80, 24)},
        """
        1
        enter
        enter
        40x12
        4
        80x24
        question_mark down
        escape 2
        @ Sent
        @ Sent▲
        down enter
        escape colon
        ' xyzzy
        @ Nothing matches
        escape at
        escape w
        200x60
        """,
    ),
    "changes, and what takes them back": (
        {},
        """
        2 down p
        4
        up enter
        P
        ' soonish
        enter
        P
        ' until 9pm
        enter
        y
        escape
        u
        escape colon
        ' sequences paused
        enter
        1
        escape colon
        ' pause
        enter
        escape colon
        ' copy
        enter
        p
        enter enter
        = Sent today
        home
        at escape u
        """,
    ),
}


async def do(screen: Screen, account: Account, line: str) -> None:
    """`=` waits for words, `'` types, `!` makes an event happen, `80x24` resizes, `@` clicks; else these are keys."""
    sign, _, rest = line.partition(" ")
    if sign == "=":
        await screen.until(rest)
    elif sign == "'":
        await screen.type(rest)
    elif sign == "!":
        await account.control("POST", "events", workspace="acme", kind=rest, count=1)
        await screen.refresh()
    elif sign == "@":
        await screen.click(rest)
    elif "x" in line and line[0].isdigit():
        await screen.resize(*map(int, line.split("x")))
    else:
        await screen.press(*line.split())


@pytest.mark.parametrize("name", SCRIPTS)
async def test_each_step_of_the_dashboard_is_whole(
    snapshot: SnapshotAssertion, account: Account, tmp_path: Path, no_idle_waiting: None, name: str
) -> None:
    options, script = SCRIPTS[name]
    options = {"size": (120, 40), **options, "toml": f"{options.get('toml', '')}\n[dns]\nenabled = false\n"}
    async with open_screen(account, tmp_path, **options) as screen:
        await screen.until("33,331")
        lines = [*map(str.strip, script.strip().splitlines()), ""]
        for number, line in enumerate(lines[:-1]):
            await do(screen, account, line)
            # Which list is in use follows a moment later.
            page = drawn_page((await screen.settled()).replace("▌", " "))
            if line[0] not in "='!" and not lines[number + 1].startswith(("'", "=")):
                assert page == snapshot(name=f"{number:02} {line}")


async def test_export_writes_the_list_without_formulas(
    account: Account, tmp_path: Path, no_idle_waiting: None
) -> None:
    hostile = {"id": "sq_1", "name": "=HYPERLINK(1)", "status": "active", "steps": 3}
    account.answer("GET /sequences", {"data": [hostile], "next_cursor": None})
    async with open_screen(account, tmp_path, size=(120, 40)) as screen:
        await screen.until("33,331")
        await screen.press("2")
        await screen.until("HYPERLINK")
        exports = tmp_path / "exports"
        exports.touch()
        for typed, said in (
            ("export", "Export failed: File exists"),
            ("export", "Exported 3 files to"),
            ("copy", "Copied: sq_1"),
        ):
            await screen.press("colon")
            await screen.type(typed)
            await screen.press("enter")
            await screen.until(said)
            if exports.is_file():
                exports.unlink()
        files = {one.name.rpartition("-")[2]: one for one in exports.iterdir()}
        assert {one.stat().st_mode & 0o077 for one in files.values()} == {0}
        (table,) = [one for one in files.values() if one.suffix == ".csv"]
        assert screen.notified == ["\x1b]52;c;c3FfMQ==\a"]
        head, line = table.read_text().splitlines()
        assert head.startswith("Status,Sequence")
        assert "'=HYPERLINK(1)" in line


async def test_a_new_alarm_and_an_unclaimed_reply_reach_the_desktop_and_the_command_of_the_settings(
    team: Team, tmp_path: Path
) -> None:
    script, told, log = tmp_path / "alarm.py", tmp_path / "told", tmp_path / "dashboard.log"
    script.write_text(
        f"import os\nopen({str(told)!r}, 'a').write(os.environ['OUTREACH_ALARM'] * (os.getsid(0) == os.getpid()))\nraise SystemExit(3)\n"
    )
    toml = f'[dashboard]\nalarm_command = "{sys.executable} {script}"\nnotifications = "osc9"\n'
    await team.deliver(interested("Ada"))
    await team.settled()
    await team.pass_time(seconds=1)
    async with open_screen(team.account, tmp_path, toml=toml, bot=team.environ) as screen:
        await screen.until("33,331")
        # The bot's records are read once the first sources have been.
        await team.deliver(interested("Eva"))
        await until(lambda: screen.notified)
        await team.pass_time(seconds=31)
        await team.account.control("POST", "events", workspace="acme", kind="domain.paused", count=1)
        await screen.refresh()
        await until(lambda: "the alarm command ended with 3" in log.read_text())
        await until(lambda: len(screen.notified) == 3)
        # What the bot has recorded of a domain stands on its page.
        await screen.press("1", "enter")
        page = await screen.until("0 bounces and 0 opt-outs since 14:05")
        domain = page.partition("› ")[2].split()[0]
        await team.deliver(bounced(inbox=f"sam@{domain}"))
        await team.pass_time(seconds=16)
        await screen.until("1 bounce and 0 opt-outs")
    assert re.fullmatch(PAUSED, told.read_text())
    news, bell, alarm = screen.notified
    assert bell == "\a"
    assert news == "\x1b]9;Outreach: Unclaimed reply: eva@acme.example, Q3 founders\x1b\\"
    assert re.fullmatch(rf"\x1b\]9;Outreach: {PAUSED}\x1b\\", alarm)


PAUSED = r"\S+ paused, \d inboxes not sending since \d\d:\d\d"


async def test_a_service_that_fails_is_named_with_what_to_do_and_what_was_kept_stays(
    account: Account, tmp_path: Path, no_idle_waiting: None
) -> None:
    async with open_screen(account, tmp_path) as screen:
        await screen.until("33,331")
        await screen.go_back()
    account.answer("GET /{any}", {}, status=401)
    CLOCK.shift(7200)
    async with open_screen(account, tmp_path, size=(120, 40)) as screen:
        await screen.until("The service rejects the API key (401)")
        for said in (
            "data from 14:05",
            "stale: 2 h ago",
            "meetacme.example",
            "Create a new key in the account",
        ):
            await screen.until(said)
        await screen.press("w")
        assert "RESTING" in await screen.until("█")
        await screen.until(" alarm")  # the page of incidents begins before the first one
        await screen.press("4")
        await account.recover()
        await account.control("POST", "events", workspace="acme", kind="domain.paused", count=1)
        await screen.refresh()
        await screen.until("1 of 9 domains paused · 7 of 60 inboxes not sending")
        times = [await read_lane(screen, *keys) for keys in (["left"], ["left"], ["left"], ["right"])]
        assert "15:50" < times[2] < times[1] == times[3] < times[0] < "16:05"
        await screen.press("r")
        await screen.until("INCIDENTS 9  24 h")
        assert not READING.search(screen.text)
        await screen.press("enter")
        await screen.until("HEALTH (lowest)")
        for typed, said in SOUGHT.items():
            await screen.press("at")
            await screen.type(typed)
            await screen.press("enter")
            await screen.until(said)
        then = await screen.until("13:55")  # the health of then
        assert not re.search(r"16:\d\d  ", then), "changes of later"
        await screen.press("right_square_bracket")
        # The next moment that was kept, or now: the last reading is written a moment after it was made.
        await until(lambda: "REPLAY 14:05" not in screen.text)
        await screen.press("escape", "escape", "2")
        await screen.trip()
        notice = await screen.until("Internal error in the dashboard (reference ")
        assert re.search(
            r"reference \w{6}, 16:05\)\. It keeps running\. Details are in the log\.  a: dismiss", notice
        )
        # Alarms come first, and taking an acknowledgement back comes last.
        await screen.press("a", "a")
        await until(lambda: "Internal error" not in screen.text and "acknowledged 16:05" in screen.text)
    assert "LookupError: made by a test" in (tmp_path / "dashboard.log").read_text()


READING = re.compile(r"(?m)^ *18 Nov (\d\d:\d\d)  \S+ \w+")
SOUGHT = {
    "soon": "“soon” isn't a time in the past.",
    "3h": "No data at 13:05. This is 14:05, the nearest moment with data.",
    "14:10": "REPLAY 14:05",
}
"""What is typed for a time, and what is said then."""


async def read_lane(screen: Screen, *keys: str) -> str:
    """The time at the cursor of a lane."""
    await screen.press(*keys)
    found = READING.search(await screen.settled())
    assert found
    return found[1]
