"""A terminal that is handed on: who makes way leaves the picture standing, and who comes paints over it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Protocol, cast

from textual.drivers.linux_driver import LinuxDriver

ENTER, LEAVE, CURSOR = "\x1b[?1049h", "\x1b[?1049l", "\x1b[?25h"
"""To the screen of programs (which clears it), back to that of the shell, and the cursor that belongs there."""


class RestartableApp(Protocol):
    """An app that can go on where another process ended, and end for one that goes on."""

    continues: bool
    restart_state: object | None


class HandoverDriver(LinuxDriver):
    """Neither leaves the screen for the next process, nor enters it anew after the one before."""

    def write(self, data: str) -> None:
        """All but what would show a gap."""
        app = cast("RestartableApp", self._app)
        kept = (data == ENTER and app.continues) or (
            data in {LEAVE, CURSOR} and app.restart_state is not None
        )
        if not kept:
            super().write(data)


@contextlib.contextmanager
def restored_terminal(*, wanted: bool = True) -> Iterator[None]:
    """Whoever fails while nobody holds the screen must not leave the shell on it."""
    try:
        yield
    except BaseException:
        if wanted and sys.__stderr__ is not None:
            sys.__stderr__.write(LEAVE + CURSOR)
            sys.__stderr__.flush()
        raise
