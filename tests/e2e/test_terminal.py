"""A real dashboard in a real terminal, and what becomes of it when the terminal is gone."""

from __future__ import annotations

import os
import select
import signal
import time
from pathlib import Path

import psutil
import pytest

from tests.e2e.terminals import Terminals
from tests.kit.processes import left_of

# With SIGHUP ignored, as under nohup, no signal tells that the terminal is gone.
START = """
import signal, sys
signal.signal(signal.SIGHUP, signal.SIG_IGN)
from cli.main import main
sys.exit(main(["dashboard"]))
"""
DEMO = """
import sys
from cli.main import main
sys.exit(main(["demo"]))
"""


def spawn(terminals: Terminals, folder: Path, program: str = START) -> tuple[int, int]:
    """The dashboard of a service that does not answer; its process and its terminal."""
    (folder / "outreach.toml").touch()
    environ = {k: v for k, v in os.environ.items() if not k.startswith("OUTREACH_")}
    environ |= {
        "OUTREACH_CONFIG": str(folder / "outreach.toml"),
        "OUTREACH_BASE_URL": "http://127.0.0.1:9/v1",
        "OUTREACH_API_KEY": "live_test",
        "OUTREACH_DATABASE_URL": f"sqlite:///{folder}/outreach.db",
        "TERM": "xterm-256color",
        "PYTHONPATH": str(Path.cwd()),
        "XDG_STATE_HOME": str(folder),
    }
    return terminals.spawn(program, environ)


def read_until(terminal: int, wanted: bytes, *, seconds: float = 60) -> None:
    seen, end = b"", time.monotonic() + seconds
    while wanted not in seen:
        assert select.select([terminal], [], [], max(0.0, end - time.monotonic()))[0], seen[-2000:]
        seen += os.read(terminal, 65536)


def seconds_until_exit(child: int, seconds: float) -> float | None:
    """After how long it ended; None when it had to be killed."""
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        if os.waitpid(child, os.WNOHANG)[0]:
            return time.monotonic() - began
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def test_a_dashboard_whose_terminal_is_gone_ends(terminals: Terminals, tmp_path: Path) -> None:
    child, terminal = spawn(terminals, tmp_path)
    read_until(terminal, b"OUTREACH")
    terminals.close(terminal)
    assert seconds_until_exit(child, 60) is not None


def stop_reading(terminal: int) -> None:
    """Have the program write more than a terminal holds that nobody reads."""
    for _ in range(40):
        os.write(terminal, b"t")
    # Nothing outside shows that a program waits in a write: this long it may take to come there.
    time.sleep(2)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("program", [START, DEMO], ids=["dashboard", "demo"])
@pytest.mark.parametrize("way", ["told to end", "terminal closed"])
def test_a_terminal_that_takes_no_output_keeps_no_process(
    terminals: Terminals, tmp_path: Path, program: str, way: str
) -> None:
    child, terminal = spawn(terminals, tmp_path, program)
    read_until(terminal, b"INBOXES", seconds=150)
    family = psutil.Process(child).children(recursive=True)
    stop_reading(terminal)
    if way == "told to end":
        os.kill(child, signal.SIGTERM)
    else:
        terminals.close(terminal)
    assert seconds_until_exit(child, 60) is not None
    assert left_of(family) == []


def test_q_leaves_and_nothing_is_written_to_the_screen_by_a_log(terminals: Terminals, tmp_path: Path) -> None:
    child, terminal = spawn(terminals, tmp_path)
    read_until(terminal, b"INBOXES")
    os.write(terminal, b"q")
    seen = bytearray()
    while select.select([terminal], [], [], 10)[0]:
        try:
            part = os.read(terminal, 65536)
        # Linux: a terminal whose other end is closed is read with EIO.
        except OSError:
            break
        if not part:
            break
        seen += part
    assert seconds_until_exit(child, 60) is not None
    assert b"Traceback" not in seen
    assert b"WARNING" not in seen
    assert (tmp_path / "dashboard.log").stat().st_mode & 0o077 == 0
