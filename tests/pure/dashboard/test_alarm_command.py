"""The alarm command: real programs that end, hang, or are not there."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.kit.waiting import until
from tui.system.alarm_command import AlarmCommand


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
    # An alarm names domains and inboxes, which are texts from outside.
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
