"""Notifications of the desktop: which sequence, what is in it, and how they get through a real terminal and tmux."""

from __future__ import annotations

import base64
import os
import re
import select
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.domain.themes import NOTIFICATIONS
from shared.records.replies import InterestedReply
from tests.tui.accounts import NOW, Clock, account, acme, failing, tick_of
from tests.tui.system.conftest import Terminals
from tui.app.dashboard import DashboardApp
from tui.system.notifications import (
    EVERY,
    LONGEST,
    MOST,
    QUERY,
    Gathered,
    Replies,
    Sequence,
    TerminalNotifier,
    sequence_of,
    through_tmux,
    written,
)

KITTY = "\x1b]99;i=outreach:p=?;a=focus,report:o=always,unfocused:p=title,body,?\x1b\\"
ATTRIBUTES = "\x1b[?62;52;c"


def version(name: str) -> str:
    return f"\x1bP>|{name}\x1b\\"


def test_the_setting_names_every_way_to_notify() -> None:
    assert {"auto", *Sequence} == {*NOTIFICATIONS}


@pytest.mark.parametrize(
    ("name", "sequence"),
    [
        ("kitty(0.44.0)", "osc99"),
        ("xterm-kitty", "osc99"),
        ("iTerm2 3.5.14", "osc9"),
        ("iTerm.app", "osc9"),
        ("ghostty 1.2.3", "osc9"),
        ("WezTerm 20240203-110809-5046fc22", "osc777"),
        ("foot(1.23.1)", "osc777"),
        ("rxvt-unicode-256color", "osc777"),
        ("Konsole 25.08.0", "osc777"),
        ("VTE(8000)", "osc777"),
        ("XTerm(390)", "off"),
        ("xterm-256color", "off"),
        ("tmux 3.3a", "off"),
    ],
)
def test_a_terminal_is_known_by_its_name(name: str, sequence: str) -> None:
    assert sequence_of(name) == sequence


def notifier(choice: str = "auto", **environ: str) -> TerminalNotifier:
    return TerminalNotifier(choice=choice, environ={"TERM": "xterm-256color", **environ})


@pytest.mark.parametrize(
    ("answer", "begins"),
    [
        (KITTY + version("foot(1.23.1)") + ATTRIBUTES, "\x1b]99;"),
        (version("WezTerm 2024") + ATTRIBUTES, "\x1b]777;notify;Outreach;"),
        (version("iTerm2 3.5.14") + ATTRIBUTES, "\x1b]9;Outreach: "),
        (version("XTerm(390)") + ATTRIBUTES, ""),
        (ATTRIBUTES, ""),
    ],
)
def test_what_the_terminal_answers_decides_over_ssh_too(answer: str, begins: str) -> None:
    asking = notifier()
    assert asking.query() == QUERY
    assert asking.replies.without(answer) == ""
    sequence = asking.sequence("paused")
    assert bool(sequence) == bool(begins)
    assert sequence.startswith(begins)


def test_the_environment_names_a_terminal_that_answers_nothing() -> None:
    assert notifier(LC_TERMINAL="iTerm2").sequence("x").startswith("\x1b]9;")
    assert notifier(TERM="xterm-ghostty").sequence("x").startswith("\x1b]9;")
    assert notifier(TERM_PROGRAM="WezTerm").sequence("x").startswith("\x1b]777;")


@pytest.mark.parametrize(
    "environ",
    [{"TERM": "linux"}, {"TERM": "dumb"}, {"TERM_PROGRAM": "Apple_Terminal"}, {"STY": "1.pts"}, {"TERM": ""}],
)
def test_a_terminal_without_any_sequence_is_neither_asked_nor_told(environ: dict[str, str]) -> None:
    silent = notifier("osc9", **environ)
    silent.tell("paused")
    assert (silent.query(), silent.due(NOW)) == ("", "")


def test_the_setting_turns_it_off_or_chooses_the_sequence() -> None:
    off = notifier("off")
    off.tell("paused")
    assert (off.query(), off.due(NOW)) == ("", "")
    chosen = notifier("osc777")
    chosen.tell("paused")
    assert (chosen.query(), chosen.sequence(chosen.due(NOW))) == ("", "\x1b]777;notify;Outreach;paused\x1b\\")


@given(st.text(), st.sampled_from([Sequence.OSC_9, Sequence.OSC_99, Sequence.OSC_777]))
def test_no_text_ends_a_sequence_or_begins_another(text: str, sequence: Sequence) -> None:
    hostile = f"\x1b]0;own\x07{text}\x9c\x1b\\\x1b[31m;{text}\x07"
    parts = written(sequence, hostile).split("\x1b\\")
    assert parts.pop() == ""
    assert len(parts) == (2 if sequence is Sequence.OSC_99 else 1)
    for part in parts:
        assert part.startswith("\x1b]")
        assert not re.search(r"[\x00-\x1f\x7f-\x9f]", part[2:])
        fields = {Sequence.OSC_9: 1, Sequence.OSC_777: 3, Sequence.OSC_99: 2}
        assert part.count(";") == fields[sequence]
    if sequence is Sequence.OSC_99:
        assert len(base64.b64decode(parts[1].rpartition(";")[2]).decode()) <= LONGEST


@given(st.text("abc\x1b[]P>|99;?:\\", max_size=12), st.lists(st.integers(0, 200), max_size=6))
@example(typed="", cuts=[95])  # within the introducer of the last answer
def test_answers_are_taken_out_of_what_is_typed_however_they_are_cut(typed: str, cuts: list[int]) -> None:
    replies = Replies()
    replies.expect()
    stream = "q" + KITTY + "\x1b[A" + version("kitty(0.44.0)") + ATTRIBUTES + "\x1b[B" + typed
    places = sorted(
        {min(cut, len(stream)) for cut in cuts if stream[cut - 1 : cut] != "\x1b"} | {0, len(stream)}
    )
    keys = "".join(replies.without(stream[a:b]) for a, b in pairwise(places))
    assert keys == f"q\x1b[A\x1b[B{typed}"
    assert (replies.has_osc99, replies.version) == (True, "kitty(0.44.0)")


def test_what_is_typed_passes_before_the_question_and_after_the_last_answer() -> None:
    replies = Replies()
    assert replies.without("\x1bP") == "\x1bP"
    replies.expect()
    assert replies.without(f"a{ATTRIBUTES}b") == "ab"
    assert replies.without("\x1bP\x1b]") == "\x1bP\x1b]"


def test_a_storm_is_one_notification_at_once_and_one_later() -> None:
    gathered = Gathered()
    gathered.add("first")
    assert gathered.due(NOW) == "first"
    for number in range(MOST + 30):
        gathered.add(f"domain {number}")
    moments = [NOW + timedelta(seconds=second) for second in range(120)]
    told = {moment: text for moment in moments if (text := gathered.due(moment))}
    assert told == {NOW + EVERY: f"domain 0 · domain 1 · domain 2 · and {MOST + 27} more"}
    gathered.add("again")
    assert gathered.due(NOW - timedelta(hours=1)) == "again", "a clock that was set back holds nothing up"


@pytest.mark.parametrize(
    ("answer", "sequence"),
    [
        ("1|iTerm2 3.5.14 xterm-256color\n", "\x1b]9;Outreach: paused\x1b\\"),
        ("2| xterm-kitty\n", "\x1b]99;"),
        ("|WezTerm 2024 xterm-256color\n", "\x1b]777;notify;Outreach;paused\x1b\\"),
        ("0|iTerm2 3.5.14 xterm-256color\n", ""),
        ("1|XTerm(390) xterm-256color\n", ""),
        ("", ""),
    ],
)
def test_tmux_is_asked_which_terminal_it_is_in_and_whether_it_passes_on(answer: str, sequence: str) -> None:
    inside = TerminalNotifier(
        choice="auto",
        environ={"TERM": "tmux-256color", "TMUX": "/tmp/tmux,1,0", "TMUX_PANE": "%3"},
        run=lambda *_, **_named: answer,
    )
    assert inside.query() == "", "tmux would answer for itself"
    wrapped = inside.sequence("paused")
    assert wrapped.startswith(through_tmux(sequence).removesuffix("\x1b\\"))
    assert bool(wrapped) == bool(sequence)


def test_a_tmux_that_does_not_answer_costs_the_notification_only() -> None:
    def fail(*_: object, **_named: object) -> str:
        raise subprocess.TimeoutExpired("tmux", 2)

    inside = TerminalNotifier(choice="auto", environ={"TERM": "tmux", "TMUX": "/tmp/t,1,0"}, run=fail)
    assert inside.sequence("paused") == ""


async def test_a_new_alarm_and_an_unclaimed_reply_are_told_together_and_old_ones_never(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = notifier("osc777")
    app = DashboardApp([acme()], now=clock, notifier=asked)
    sent: list[str] = []
    monkeypatch.setattr(app, "_write", sent.append)
    old = InterestedReply(email="maya@harbor.example", received_at=NOW - timedelta(minutes=1))
    async with app.run_test() as pilot:
        for second in range(4):
            clock.advance(1)
            replies = (old, replace(old, received_at=clock.time)) if second > 1 else (old,)
            snapshot = account(now=clock.time, replies=replies)
            if second > 1:
                snapshot = failing(snapshot, since=clock.time)
            app.post_message(app.Ticked(tick_of(snapshot, beats=1 + second)))
            await pilot.pause()
            app.second_passed()
            await app.workers.wait_for_complete()
    (told,) = filter(None, sent)
    assert told.startswith("\x1b]777;notify;Outreach;The outreach service can't be reached since 14:32")
    assert told.endswith(" · Unclaimed reply: Maya Sharma of Harbor\x1b\\")


PROGRAM = """
import asyncio, os, sys
from dataclasses import replace
from tests.tui.accounts import acme, account, failing, tick_of, NOW
from tui.app.dashboard import DashboardApp
from tui.system.notifications import TerminalNotifier
from tui.system.terminal import HandoverDriver

async def main():
    state = acme()
    notifier = TerminalNotifier(choice="auto", environ=os.environ)
    app = DashboardApp([state], notifier=notifier, driver_class=HandoverDriver)
    running = asyncio.create_task(app.run_async())
    await asyncio.sleep(3)
    hostile = "\\x1b]0;own\\x07; x"
    whole = account()
    boxes = tuple(replace(box, health_score=95.0, status="active") for box in whole.inboxes.value)
    whole = replace(whole, inboxes=replace(whole.inboxes, value=boxes))
    app.post_message(app.Ticked(tick_of(whole, beats=1)))
    await asyncio.sleep(0.5)
    evil = tuple(replace(box, email=f"{number}@{hostile}.example", status="resting") for number, box in enumerate(boxes[:3]))
    app.post_message(app.Ticked(tick_of(replace(whole, inboxes=replace(whole.inboxes, value=boxes + evil)), beats=2)))
    await running
asyncio.run(main())
"""


def read_until(terminal: int, wanted: bytes, *, seconds: float = 40) -> bytes:
    """What a terminal shows until it has been sent some bytes."""
    seen, left = b"", seconds
    while wanted not in seen:
        assert left > 0, seen[-600:]
        if select.select([terminal], [], [], 0.2)[0]:
            seen += os.read(terminal, 65_536)
        else:
            left -= 0.2
    return seen


def environment(**more: str) -> dict[str, str]:
    named = ("TERM_PROGRAM", "LC_TERMINAL", "TMUX", "STY", "TEXTUAL_DRIVER", "NO_COLOR")
    plain = {name: value for name, value in os.environ.items() if name not in named}
    return plain | {"TERM": "xterm-256color", "PYTHONPATH": str(Path(__file__).parents[3])} | more


@pytest.mark.e2e
def test_a_real_terminal_is_asked_answers_and_is_told_of_an_alarm(terminals: Terminals) -> None:
    _, terminal = terminals.spawn(PROGRAM, environment())
    read_until(terminal, QUERY.encode())
    os.write(terminal, (version("WezTerm 2024") + ATTRIBUTES).encode())
    told = read_until(terminal, b"\x1b]777;notify;Outreach;, x.example paused, 3 inboxes not sending since ")
    assert b"Outreach: " not in told, "one sequence is enough"
    assert b"\x1b]0;own" not in told
    os.write(terminal, b"q")


@pytest.mark.e2e
def test_a_notification_gets_through_tmux_to_the_terminal_around_it(
    terminals: Terminals, tmp_path: Path
) -> None:
    program, socket = tmp_path / "program.py", str(tmp_path / "tmux")
    program.write_text(PROGRAM)
    tmux = ["tmux", "-S", socket, "-f", "/dev/null"]
    inside = f"{sys.executable} {program}"
    subprocess.run(
        [*tmux, "new-session", "-d", "-x", "120", "-y", "40", "sleep 60"], check=True, env=environment()
    )
    try:
        subprocess.run([*tmux, "set", "-g", "allow-passthrough", "on"], check=True)
        _, terminal = terminals.spawn(
            f"import os; os.execvp('tmux', {[*tmux, 'attach']!r})", environment(TERM="xterm-256color")
        )
        answer_when(terminal, b"\x1b[>", lambda: version("WezTerm 2024").encode())
        subprocess.run([*tmux, "respawn-pane", "-k", inside], check=True)
        shown = read_until(terminal, b"\x1b]777;notify;Outreach;, x.example paused")
        assert b"\x1bPtmux" not in shown
    finally:
        subprocess.run([*tmux, "kill-server"], check=False)


def answer_when(terminal: int, asked: bytes, answer: Callable[[], bytes]) -> None:
    read_until(terminal, asked)
    os.write(terminal, b"\x1b[?62;c" + answer())
