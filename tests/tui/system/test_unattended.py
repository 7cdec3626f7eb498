"""What a wall does that nobody sits at: it tells systemd, calls for help, and renews itself."""

from __future__ import annotations

import asyncio
import os
import select
import subprocess
import sys
import time as time_module
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

import pytest

from shared.domain.snapshot import Snapshot
from tests.clock import moment
from tests.tui.accounts import NOW, Clock, account, acme, failing, tick_of
from tests.tui.system.conftest import Terminals
from tests.waiting import until
from tools.bench.dashboard import tui_month
from tui.app.dashboard import DashboardApp
from tui.model.news.alarms import Alarm, to_plain
from tui.system import self_restart
from tui.system.alarm_command import AlarmCommand
from tui.system.self_restart import RestartState, is_due, parse_time
from tui.system.terminal import ENTER, LEAVE

ALARM = Alarm(key="domain a.example", kind="resting", where="a.example", text="resting", extent=1, since=NOW)


# -- the alarm command ---------------------------------------------------------------------------------


@asynccontextmanager
async def calling(
    folder: Path, body: str, *, patience: float = 5
) -> AsyncIterator[tuple[AlarmCommand, Path]]:
    out = folder / "out"
    script = folder / "alarm.py"
    script.write_text(f"import os, sys, time\nout = {str(out)!r}\n{body}\n")
    caller = AlarmCommand(f"{sys.executable} {script}", timeout=patience)
    async with caller.open():
        yield caller, out


async def test_each_alarm_runs_the_command_once_without_a_shell(tmp_path: Path) -> None:
    body = "open(out, 'a').write(os.environ['OUTREACH_ALARM'] + '|' + str(len(sys.argv)) + '\\n')"
    hostile = "$(touch x); `id` \x1b[31m\nred"
    async with calling(tmp_path, body) as (caller, out):
        caller.call(["first", hostile])
        await until(lambda: out.exists() and out.read_text().count("\n") == 2)
    first, second = out.read_text().splitlines()
    assert first == "first|1"
    assert second.startswith("$(touch x); `id` ")
    assert "\x1b" not in second


async def test_an_endless_alarm_command_is_ended_and_the_next_one_runs(tmp_path: Path) -> None:
    body = "open(out, 'a').write(str(os.getpid()) + '\\n')\nif os.environ['OUTREACH_ALARM'] == 'hang': time.sleep(60)"
    async with calling(tmp_path, body, patience=1.0) as (caller, out):
        caller.call(["hang", "next"])
        await until(lambda: out.exists() and out.read_text().count("\n") == 2)
        hung = int(out.read_text().split()[0])
        with pytest.raises(ProcessLookupError):
            os.kill(hung, 0)


def test_without_a_command_no_number_of_alarms_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    AlarmCommand("").call(map(str, range(200)))
    assert not caplog.records


async def test_a_command_that_is_not_there_costs_a_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async with AlarmCommand("'unbalanced").open():
        assert "can't be read" in caplog.text
    caller = AlarmCommand("/nowhere/alarm --loud")
    async with caller.open():
        caller.call(["one"])
        await until(lambda: "can't be run" in caplog.text)
        caller.call([f"more {n}" for n in range(50)])
    assert "too many alarms" in caplog.text


def with_failed_domain(snapshot: Snapshot) -> Snapshot:
    boxes = tuple(replace(box, health_score=8.0, status="active") for box in snapshot.inboxes.value or ())
    return replace(snapshot, inboxes=replace(snapshot.inboxes, value=boxes))


async def test_an_alarm_goes_off_at_the_edge_and_not_for_what_was_already_so(clock: Clock) -> None:
    called = list[str]()
    app = DashboardApp([acme()], now=clock, on_alarm=called.extend)
    async with app.run_test(size=(120, 40)) as pilot:
        for snapshot in (with_failed_domain(account()), with_failed_domain(account())):
            app.post_message(app.Ticked(tick_of(snapshot)))
        await pilot.pause()
        assert called == [], "it was so when the dashboard began"
        for _ in range(3):
            app.post_message(app.Ticked(tick_of(failing(account(), since=NOW + timedelta(seconds=1)))))
        await pilot.pause()
        assert called == ["The outreach service can't be reached since 14:32"]


# -- the renewal ---------------------------------------------------------------------------------------


def test_the_quiet_hour_comes_once_a_day_and_not_for_the_young() -> None:
    began = datetime(2026, 3, 2, 12, tzinfo=UTC)
    at = time(4)
    assert not is_due(at, began=began, now=began + timedelta(hours=15, minutes=59), zone=UTC)
    assert is_due(at, began=began, now=began + timedelta(hours=16), zone=UTC)
    assert is_due(at, began=began, now=began + timedelta(days=3), zone=UTC), "it was asleep at the hour"
    young = datetime(2026, 3, 3, 3, 30, tzinfo=UTC)
    assert not is_due(at, began=young, now=young + timedelta(minutes=40), zone=UTC)
    assert not is_due(None, began=began, now=began + timedelta(days=3), zone=UTC)
    assert not is_due(at, began=began, now=began - timedelta(days=2), zone=UTC), "a clock that stepped back"


@pytest.mark.parametrize(("text", "found"), [("04:00", time(4)), ("25:00", None), ("", None), ("noon", None)])
def test_the_hour_is_read_or_there_is_none(text: str, found: time | None) -> None:
    assert parse_time(text) == found


def test_a_restart_passes_its_state_on_and_ignores_nonsense() -> None:
    state = RestartState(wall=True, theme="day", alarms={"acme": [to_plain(ALARM)]})
    assert RestartState.of({self_restart.VARIABLE: state.to_json()}) == state
    assert RestartState.of({self_restart.VARIABLE: "[]"}) is None
    assert RestartState.of({}) is None


def test_a_self_restart_keeps_pid_arguments_and_state() -> None:
    code = """
import os, sys
from tui.system.self_restart import RestartState, restart
before = RestartState.of(os.environ)
print(os.getpid(), before and before.alarms, flush=True)
if before is None:
    restart(RestartState(alarms={"acme": []}))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=20)
    first, second = ran.stdout.splitlines()
    assert first.split()[0] == second.split()[0]
    assert "None" in first
    assert "{'acme': []}" in second


async def test_a_wall_makes_way_at_its_hour_and_the_next_one_begins_as_it_ended(clock: Clock) -> None:
    before = RestartState(wall=True, theme="day", alarms={"acme": [to_plain(ALARM)]})
    app = DashboardApp([acme()], now=clock, restart_at=time(15), restored=before)
    async with app.run_test(size=(120, 40)) as pilot:
        app.post_message(app.Ticked(tick_of(account())))
        await pilot.pause()
        app.second_passed()
        assert "(and 1 more)" in app.wall.banner.text, "beside what has begun since"
        assert app.restart_state is None
        clock.advance(3700)
        app.second_passed()
        await pilot.pause()
    assert app.return_code == self_restart.CODE
    left = RestartState.of({self_restart.VARIABLE: vars(app)["restart_state"].to_json()})
    assert left
    assert (left.wall, left.theme) == (True, "day")
    assert ALARM.key in {found["key"] for found in left.alarms["acme"]}


YOUNG = """
import datetime, sys
from tui.system import self_restart
self_restart.LEAST = datetime.timedelta()  # a dashboard of a few seconds is old enough here
from cli.main import main
sys.exit(main(["dashboard", "--wall"]))
"""


@pytest.mark.e2e
def test_a_self_restart_leaves_no_gap_on_the_terminal(terminals: Terminals, tmp_path: Path) -> None:
    soon = moment().astimezone() + timedelta(seconds=10)
    (tmp_path / "outreach.toml").write_text(f'[dashboard]\nrefresh_at = "{soon:%H:%M:%S}"\n')
    environ = {name: value for name, value in os.environ.items() if not name.startswith("OUTREACH_")}
    environ |= {
        "OUTREACH_CONFIG": str(tmp_path / "outreach.toml"),
        "OUTREACH_BASE_URL": "http://127.0.0.1:9/v1",
        "OUTREACH_API_KEY": "live_none",
        "OUTREACH_DATABASE_URL": f"sqlite:///{tmp_path}/outreach.db",
        "TERM": "xterm-256color",
    }
    process, terminal = terminals.spawn(YOUNG, environ)
    seen = read_until(terminal, lambda shown: shown.count(MOUSE) > 2 and b"OUTREACH" in shown.split(DONE)[-1])
    assert seen.count(DONE) == 1, "it began anew"
    assert (seen.count(ENTER.encode()), seen.count(LEAVE.encode())) == (1, 0), "on the same screen"
    os.write(terminal, b"x")
    assert read_until(terminal, lambda shown: b"filter" in shown), "back to hands"
    os.write(terminal, b"q")
    assert read_until(terminal, lambda shown: LEAVE.encode() in shown), "and left it in the end"
    os.waitpid(process, 0)


DONE, MOUSE = b"\x1b[?2004l", b"\x1b[?1000h"
"""What a program says as it lets go of its terminal's keys, and as it takes them."""


def read_until(terminal: int, fits: Callable[[bytes], bool]) -> bytes:
    seen, end = b"", time_module.monotonic() + 40
    while not fits(seen):
        left = end - time_module.monotonic()
        assert left > 0, seen[-800:]
        if select.select([terminal], [], [], left)[0]:
            seen += os.read(terminal, 65536)
    return seen


@pytest.mark.soak
async def test_a_month_takes_no_memory_and_no_widget() -> None:
    month = await asyncio.to_thread(tui_month.measure, 240.0)
    assert month.boards > 200
    assert month.largest < 150, "everything is read several times a second"
    assert month.slope < 1
    assert month.widgets == 0
