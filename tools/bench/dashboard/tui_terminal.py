"""The real program on a real terminal, for what must be measured from outside."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """A dashboard's process, and our end of what it is shown on."""

    process: int
    descriptor: int

    def await_text(self, wanted: bytes, *, seconds: float) -> None:
        """Read until it is on the screen."""
        seen = b""
        end = time.monotonic() + seconds
        while wanted not in seen:
            if not select.select([self.descriptor], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError(seen[-2000:])
            # What is drawn must be taken, or the program would wait for room in the terminal.
            seen = (seen + os.read(self.descriptor, 65536))[-200_000:]


@contextlib.contextmanager
def dashboard(folder: Path, *, base_url: str, database: str) -> Iterator[Terminal]:
    """`outreach dashboard` on 200 by 50 cells, until the block ends; nothing is configured but this."""
    environ = {k: v for k, v in os.environ.items() if not k.startswith("OUTREACH_")}
    environ |= {
        "OUTREACH_CONFIG": str(folder / "none.toml"),
        "OUTREACH_BASE_URL": base_url,
        "OUTREACH_API_KEY": "live_bench",
        "OUTREACH_DATABASE_URL": database,
        "TERM": "xterm-256color",
        "XDG_STATE_HOME": str(folder),
    }
    (folder / "none.toml").touch()
    process, descriptor = pty.fork()
    if process == 0:  # pragma: no cover # another process
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
        os.execve(sys.executable, [sys.executable, "-P", "-m", "outreach_ops", "dashboard"], environ)
    try:
        yield Terminal(process=process, descriptor=descriptor)
    finally:
        # Killed: what it would save at its end is nothing that is measured.
        os.kill(process, signal.SIGKILL)
        os.close(descriptor)
        os.waitpid(process, 0)
