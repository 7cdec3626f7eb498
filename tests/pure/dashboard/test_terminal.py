"""What a terminal is written: signs that it can show, and notifications that no text from outside leaves."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import threading
from collections.abc import Iterator
from datetime import timedelta
from queue import Queue

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.kit.snapshots import NOW
from tests.kit.waiting import until
from tui.model.happened import LOOKS
from tui.model.incident import FILLS
from tui.system import terminal
from tui.system.notifications import TerminalNotifier, written
from tui.system.terminal import (
    ASCII,
    AsciiDriver,
    exit_when_terminal_gone,
    is_hung_up,
    plain_theme,
    speaks_unicode,
    writable,
)
from tui.theme.palette import RUNNING, SEEN, SIGNS, STOPPED, WARMING


def test_every_sign_has_a_plain_one_of_its_width() -> None:
    for sign, plain in ASCII.items():
        assert plain.isascii()
        assert (len(plain), cell_len(chr(sign))) == (1, 1)
    # Some terminals show no colors, and some people don't see them.
    own = (*SIGNS.values(), STOPPED, RUNNING, WARMING, SEEN)
    for signs in (own, [look.sign for look in LOOKS.values()], [sign for sign, _ in FILLS.values()]):
        assert len({sign.translate(ASCII) for sign in signs}) == len(signs), "they stay apart"


@pytest.mark.parametrize(
    ("environ", "theme"),
    [
        ({"TERM": "linux"}, "basic"),
        ({"TERM": "xterm"}, "basic"),
        ({"TERM": "xterm-256color"}, ""),
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, ""),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, "mono"),
    ],
)
def test_a_plain_terminal_has_its_own_theme(environ: dict[str, str], theme: str) -> None:
    assert plain_theme(environ) == theme
    assert plain_theme(environ, is_browser=True) == ("mono" if "NO_COLOR" in environ else "")


def test_what_an_encoding_lacks_is_written_plain() -> None:
    assert writable("◆ 2 Müller · 東", "ascii") == "X 2 Muller . ?"
    assert writable("◆ Müller", "utf-8") == "◆ Müller"
    assert [speaks_unicode(name) for name in ("UTF-8", "utf8", "ascii", None)] == [True, True, False, False]


# -- notifications ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choice", "environ", "sequence"),
    [
        ("osc9", {}, "\x1b]9;Outreach: paused\x1b\\"),
        # The terminal around tmux is meant.
        ("osc9", {"TMUX": "/tmp/tmux,1,0"}, "\x1bPtmux;\x1b\x1b]9;Outreach: paused\x1b\x1b\\\x1b\\"),
        ("off", {}, ""),
        # These terminals would print the sequence over the board.
        ("osc9", {"TERM": "linux"}, ""),
        ("osc9", {"TERM": "dumb"}, ""),
        ("osc9", {"TERM": ""}, ""),
    ],
)
def test_a_notification_is_written_where_it_is_wanted_and_understood(
    choice: str, environ: dict[str, str], sequence: str
) -> None:
    notifier = TerminalNotifier(choice=choice, environ={"TERM": "xterm-256color", **environ})
    notifier.tell("paused")
    assert notifier.due(NOW) == sequence


@given(st.text())
def test_no_text_ends_a_sequence_or_begins_another(text: str) -> None:
    # C1 has an end of the sequence in one byte, 0x9c, beside the one of two.
    hostile = f"\x1b]0;own\x07{text}\x9c\x1b\\\x1b[31m;{text}\x07"
    sequence, end = written(hostile).split("\x1b\\")
    assert end == ""
    assert sequence.startswith("\x1b]9;Outreach: ")
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", sequence[2:])
    assert sequence.count(";") == 1


def test_a_storm_is_one_notification_at_once_and_then_one_in_half_a_minute() -> None:
    storm = TerminalNotifier(choice="osc9", environ={"TERM": "xterm"})
    told = []
    for second in range(121):
        storm.tell(f"domain {second}")
        if text := storm.due(NOW + timedelta(seconds=second)):
            told.append((second, text))
    assert told[:2] == [(0, written("domain 0")), (30, written("domain 1 · domain 2 · domain 3 and 27 more"))]
    assert len(told) == 5
    long = "x" * 300
    storm.tell(long)
    assert storm.due(NOW - timedelta(hours=1)) == f"\x1b]9;Outreach: {long[:240]}\x1b\\", (
        "the clock was set back"
    )


# -- the end of a terminal -------------------------------------------------------------------------


@pytest.fixture
def pipe() -> Iterator[list[int]]:
    """The reading and the writing end."""
    ends = [*os.pipe()]
    yield ends
    for end in ends:
        with contextlib.suppress(OSError):
            os.close(end)


@pytest.mark.parametrize("lost", ["closed", "terminated", "hung up"])
async def test_a_lost_terminal_and_a_signal_end_the_dashboard(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, pipe: list[int], lost: str
) -> None:
    former = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it is ignored
    request.addfinalizer(lambda: signal.signal(signal.SIGHUP, former))
    insisted, left = list[str](), asyncio.Event()
    monkeypatch.setattr(terminal, "EVERY", 0.01)
    monkeypatch.setattr(terminal, "insist", lambda: insisted.append("once"))
    handlers = [signal.getsignal(number) for number in terminal.ENDING]
    async with exit_when_terminal_gone(left.set, descriptor=pipe[0], is_lost=is_hung_up):
        await asyncio.sleep(0.03)
        assert not left.is_set()
        if lost == "closed":
            os.close(pipe[1])
        else:
            os.kill(os.getpid(), signal.SIGTERM if lost == "terminated" else signal.SIGHUP)
        await asyncio.wait_for(left.wait(), 10)
    assert insisted == ["once"]
    assert [signal.getsignal(number) for number in terminal.ENDING] == handlers


async def test_without_a_terminal_nothing_is_watched_and_an_ignored_signal_stays_so(pipe: list[int]) -> None:
    await until(lambda: not is_watched())  # by the thread of another test
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        async with exit_when_terminal_gone(pytest.fail, descriptor=pipe[0]):
            assert not is_watched()
        async with exit_when_terminal_gone(pytest.fail, descriptor=pipe[0], is_lost=is_hung_up):
            assert is_watched()
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def is_watched() -> bool:
    return "dashboard-terminal-watch" in {one.name for one in threading.enumerate()}


async def test_what_does_not_end_in_time_is_ended_the_hard_way(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = list[tuple[int, bool]]()
    monkeypatch.setattr(os, "_exit", lambda code: ended.append((code, threading.current_thread().daemon)))
    terminal.insist(0.01)
    await until(lambda: ended)
    assert ended == [(1, True)], "a daemon holds up no orderly end"


class Writer:
    """A thread that writes, with room for one."""

    def __init__(self) -> None:
        self._queue, self.is_running, self.joined = Queue[str | None](1), True, list[float]()

    def is_alive(self) -> bool:
        return self.is_running

    def join(self, seconds: float) -> None:
        self.joined.append(seconds)


def test_output_for_a_terminal_that_is_gone_is_dropped(
    monkeypatch: pytest.MonkeyPatch, pipe: list[int]
) -> None:
    monkeypatch.setattr(terminal, "EVERY", 0.01)
    driver, writer = object.__new__(AsciiDriver), Writer()
    driver._writer_thread, driver.fileno = writer, pipe[0]  # type: ignore[assignment] # as much as is used
    driver.write("◆ Müller")
    driver.write("nobody takes it")
    assert writer._queue.get_nowait() == "X Müller"
    driver.close()
    assert (writer._queue.get_nowait(), writer.joined) == (None, [1.0])
    writer.is_running = False
    driver.write("nobody writes it")
    assert writer._queue.empty()
