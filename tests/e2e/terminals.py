"""Programs in terminals of their own."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import sys
from collections.abc import Mapping


class Terminals:
    """Starts Python programs in terminals, and leaves no process and no terminal behind, wherever a test stopped."""

    def __init__(self) -> None:
        self._children: list[int] = []
        self._open: set[int] = set()

    def spawn(self, program: str, environ: Mapping[str, str]) -> tuple[int, int]:
        """The process and its terminal."""
        child, terminal = pty.fork()
        if child == 0:  # pragma: no cover # another process
            os.execve(sys.executable, [sys.executable, "-c", program], environ)
        self._children.append(child)
        self._open.add(terminal)
        return child, terminal

    def close(self, terminal: int) -> None:
        self._open.remove(terminal)
        os.close(terminal)

    def end(self) -> None:
        for child in self._children:
            with contextlib.suppress(ChildProcessError, ProcessLookupError):
                if os.waitpid(child, os.WNOHANG) == (0, 0):
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
        for terminal in self._open:
            os.close(terminal)
