"""A notification of the desktop, through a real terminal and tmux."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path

from tests.e2e.terminals import Terminals

PROGRAM = """
import asyncio, os, sys
from dataclasses import replace
from tests.kit.snapshots import acme, account, tick_of
from tui.app.dashboard import DashboardApp
from tui.system.notifications import TerminalNotifier
from tui.system.terminal import TerminalDriver

async def main():
    state = acme()
    notifier = TerminalNotifier(choice="osc9", environ=os.environ)
    app = DashboardApp([state], notifier=notifier, driver_class=TerminalDriver)
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
    return plain | {"TERM": "xterm-256color", "PYTHONPATH": str(Path(__file__).parents[2])} | more


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
        # tmux drops such sequences unless its user allows them.
        subprocess.run([*tmux, "set", "-g", "allow-passthrough", "on"], check=True)
        _, terminal = terminals.spawn(
            f"import os; os.execvp('tmux', {[*tmux, 'attach']!r})", environment(TERM="xterm-256color")
        )
        read_until(terminal, b"\x1b[>")
        # tmux asks the terminal around it what it is: nothing but this test can answer.
        os.write(terminal, b"\x1b[?62;c")
        subprocess.run([*tmux, "respawn-pane", "-k", inside], check=True)
        shown = read_until(terminal, b"\x1b]9;Outreach: , x.example paused")
        assert b"\x1bPtmux" not in shown
    finally:
        subprocess.run([*tmux, "kill-server"], check=False)
