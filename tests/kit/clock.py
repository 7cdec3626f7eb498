"""The one clock of the kit: the process's own, which `tests/conftest.py` has put to a fixed moment.

Bot, stand-in and service read it where they run in this process, so that all of them agree. It goes on by
itself and is moved ahead at once; waits of the event loop are not shortened by that.
"""

from __future__ import annotations

from tests.clock import CLOCK, NOW, moment

__all__ = ["NOW", "moment", "move"]


def move(seconds: float) -> None:
    """Let so many seconds pass at once, for everything that asks for the time."""
    CLOCK.shift(seconds)
