"""Notifications of the desktop by way of the terminal, which also works through ssh and tmux.

OSC 9 is the sequence of iTerm2 (https://iterm2.com/documentation-escape-codes.html), and others know it too. The
terminal is asked nothing: the setting says whether it is wanted.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from shared.text.formats import show_some
from shared.text.sanitize import visible

EVERY = timedelta(seconds=30)
"""The time between two notifications; what happens meanwhile is in the next one."""
NAMED = 3
LONGEST = 240
"""Characters of a notification."""
TITLE = "Outreach"
OFF = "off"
UNABLE = frozenset({"linux", "dumb", ""})
"""Values of $TERM whose terminals print what they don't know."""


def written(text: str) -> str:
    """The notification for the terminal. Strangers' text can't end the sequence, nor begin another one.

    No control character is left in it, and it begins with our own word: a number there is a command to some
    terminals (https://ghostty.org/docs/vt/osc/conemu).
    """
    return f"\x1b]9;{TITLE}: {visible(text)[:LONGEST].replace(';', ',')}\x1b\\"


def through_tmux(sequence: str) -> str:
    """Wrap a sequence for the terminal around tmux: every escape doubled (https://github.com/tmux/tmux/wiki/FAQ)."""
    return f"\x1bPtmux;{sequence.replace(chr(27), chr(27) * 2)}\x1b\\"


class TerminalNotifier:
    """Tells the desktop what is new, if the setting wants it; a storm is a few notifications."""

    def __init__(self, *, choice: str, environ: Mapping[str, str]) -> None:
        self._is_wanted = choice != OFF and environ.get("TERM", "") not in UNABLE
        self._in_tmux = bool(environ.get("TMUX"))
        self._texts: list[str] = []
        self._last: datetime | None = None

    def tell(self, text: str) -> None:
        self._texts.append(text)

    def due(self, now: datetime) -> str:
        """The sequence to write to the terminal now; empty while there is nothing, or too soon after the one before.

        A clock that was set back holds nothing up.
        """
        if not self._texts or (self._last and timedelta() <= now - self._last < EVERY):
            return ""
        text = show_some(self._texts, NAMED, separator=" · ")
        self._texts, self._last = [], now
        if not self._is_wanted:
            return ""
        return through_tmux(written(text)) if self._in_tmux else written(text)
