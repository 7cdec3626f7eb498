"""Notifications of the desktop by way of the terminal, which also works through ssh and tmux.

There are three sequences, and no terminal has all of them. One says so itself when it is asked
(https://sw.kovidgoyal.net/kitty/desktop-notifications/); others are known by the name that they give as their version
(`XTVERSION`, https://invisible-island.net/xterm/ctlseqs/ctlseqs.html) or in the environment:

- OSC 9 of iTerm2 (https://iterm2.com/documentation-escape-codes.html), which Ghostty has too (https://ghostty.org/docs/vt/osc/9);
- OSC 777 of rxvt-unicode, WezTerm (https://wezterm.org/config/lua/config/notification_handling.html), foot, Konsole and VTE. Windows
  Terminal had none when this was written (https://github.com/microsoft/terminal/pull/20012);
- OSC 99 of kitty.

tmux says which terminal it is shown in, and passes a sequence on if `allow-passthrough` is on (https://man.openbsd.org/tmux.1).
"""

from __future__ import annotations

import base64
import logging
import re
import subprocess
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum

from shared.text.sanitize import visible

logger = logging.getLogger(__name__)

EVERY = timedelta(seconds=30)
"""Between two notifications; what happens meanwhile is in the next one."""
MOST = 20
"""Events that wait to be notified of; of more, only their number is told."""
NAMED = 3
LONGEST = 240
"""Characters of a notification."""
TMUX_SECONDS = 2.0
TITLE = "Outreach"


class Sequence(StrEnum):
    """How a terminal takes a notification."""

    NONE = "off"
    OSC_9 = "osc9"
    OSC_99 = "osc99"
    OSC_777 = "osc777"


AUTO = "auto"
CHOICES = (AUTO, *(one.value for one in Sequence))
"""What the setting may be."""
NAMES = {
    "kitty": Sequence.OSC_99,
    "iterm": Sequence.OSC_9,
    "ghostty": Sequence.OSC_9,
    "wezterm": Sequence.OSC_777,
    "foot": Sequence.OSC_777,
    "rxvt": Sequence.OSC_777,
    "konsole": Sequence.OSC_777,
    "vte": Sequence.OSC_777,
    "contour": Sequence.OSC_777,
}
"""By a part of the terminal's name."""
UNABLE = frozenset({"linux", "dumb", ""})
"""Values of $TERM without any such sequence; they may print what they don't know. Apple's terminal and screen have none either."""

QUERY = "\x1b]99;i=outreach:p=?;\x1b\\\x1b[>0q\x1b[c"
"""Whether it has OSC 99, which version it is, and, as every terminal answers that and in this order, its attributes."""
_REPLY = re.compile(
    r"\x1b\]99;(?P<osc99>[^\x07\x1b]*)(?:\x07|\x1b\\)|\x1bP>\|(?P<version>[^\x07\x1b]*)\x1b\\|(?P<last>\x1b\[\?[\d;]*c)"
)
_BEGUN = re.compile(
    r"\x1b(?:\](?:9|99|99;[^\x07\x1b]*\x1b?)?|P(?:>|>\|[^\x07\x1b]*\x1b?)?|\[(?:\?[\d;]*)?)\Z"
)


class Replies:
    """Takes the answers to `QUERY` out of what is typed: they would be read as keys."""

    def __init__(self) -> None:
        self.has_osc99 = False
        self.version = ""
        self._awaited = False
        self._begun = ""

    def expect(self) -> None:
        self._awaited = True

    def without(self, typed: str) -> str:
        """The keys in it; half an answer is kept until the other half comes."""
        if not self._awaited:
            return typed
        rest = _REPLY.sub(self._take, self._begun + typed)
        self._begun = self._half_answer(rest)
        return rest.removesuffix(self._begun)

    def _half_answer(self, typed: str) -> str:
        begun = _BEGUN.search(typed)
        return begun[0] if begun and self._awaited else ""

    def _take(self, found: re.Match[str]) -> str:
        if found["last"]:
            self._awaited = False
        elif found["version"] is not None:
            self.version = visible(found["version"])
        elif "p=?" in found["osc99"].partition(";")[0].split(":"):
            self.has_osc99 = True
        return ""


def sequence_of(name: str) -> Sequence:
    """The sequence of a terminal with that name."""
    lowered = name.lower()
    return next((sequence for part, sequence in NAMES.items() if part in lowered), Sequence.NONE)


def written(sequence: Sequence, text: str) -> str:
    """The notification for the terminal. Strangers' text can't end the sequence, nor begin another one.

    No control character is left in it, the semicolon separates fields, and OSC 99 takes it encoded. OSC 9 begins with
    our own word: a number there is a command to some terminals (https://ghostty.org/docs/vt/osc/conemu).
    """
    plain = visible(text)[:LONGEST].replace(";", ",")
    if sequence is Sequence.OSC_9:
        return f"\x1b]9;{TITLE}: {plain}\x1b\\"
    if sequence is Sequence.OSC_777:
        return f"\x1b]777;notify;{TITLE};{plain}\x1b\\"
    if sequence is Sequence.OSC_99:
        title, body = (base64.b64encode(part.encode()).decode() for part in (TITLE, plain))
        about = "i=outreach:o=unfocused:e=1"
        return f"\x1b]99;{about}:d=0:p=title;{title}\x1b\\\x1b]99;{about}:d=1:p=body;{body}\x1b\\"
    return ""


def through_tmux(sequence: str) -> str:
    """For the terminal around tmux: every escape doubled (https://github.com/tmux/tmux/wiki/FAQ)."""
    return f"\x1bPtmux;{sequence.replace(chr(27), chr(27) * 2)}\x1b\\" if sequence else ""


class Gathered:
    """Events that are notified of together, so that a storm is a few notifications. Pure."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._more = 0
        self._last: datetime | None = None

    def add(self, text: str) -> None:
        if len(self._texts) < MOST:
            self._texts.append(text)
        else:
            self._more += 1

    def due(self, now: datetime) -> str:
        """What to notify of now; empty while there is nothing, or too soon after the one before."""
        if not self._texts or (self._last and timedelta() <= now - self._last < EVERY):
            return ""
        count, named = len(self._texts) + self._more, self._texts[:NAMED]
        self._texts, self._more, self._last = [], 0, now
        more = f" · and {count - len(named):,} more" if count > len(named) else ""
        return " · ".join(named) + more


class TerminalNotifier:
    """Tells the desktop what is new, if the terminal can and the setting lets it."""

    def __init__(
        self, *, choice: str, environ: Mapping[str, str], run: Callable[..., str] = subprocess.check_output
    ) -> None:
        self.replies = Replies()
        self._gathered = Gathered()
        self._environ = environ
        self._run = run
        is_unable = (
            environ.get("TERM", "") in UNABLE
            or environ.get("TERM_PROGRAM") == "Apple_Terminal"
            or "STY" in environ
        )
        self._is_able = choice != Sequence.NONE and not is_unable
        self._chosen = Sequence(choice) if choice in {*Sequence} else None
        self._in_tmux = bool(environ.get("TMUX"))

    def query(self) -> str:
        """What to ask the terminal once; tmux answers for itself, so it is asked when there is something to tell."""
        if not self._is_able or self._in_tmux or self._chosen:
            return ""
        self.replies.expect()
        return QUERY

    def tell(self, text: str) -> None:
        if self._is_able:
            self._gathered.add(text)

    def due(self, now: datetime) -> str:
        return self._gathered.due(now)

    def sequence(self, text: str) -> str:
        """What to write to the terminal; asks tmux, so it may take a moment."""
        if self._in_tmux:
            return through_tmux(written(self._chosen or self._around_tmux(), text))
        return written(self._chosen or self._own(), text)

    def _own(self) -> Sequence:
        if self.replies.has_osc99:
            return Sequence.OSC_99
        names = (self.replies.version, *(self._environ.get(name, "") for name in NAMING))
        return next(
            (found for name in names if (found := sequence_of(name)) is not Sequence.NONE), Sequence.NONE
        )

    def _around_tmux(self) -> Sequence:
        pane = self._environ.get("TMUX_PANE")
        command = ["tmux", "display-message", *(("-t", pane) if pane else ()), "-p", TMUX_NAMES]
        try:
            answer = self._run(command, text=True, timeout=TMUX_SECONDS, stderr=subprocess.DEVNULL)
        except (OSError, subprocess.SubprocessError) as error:
            logger.info("tmux didn't say which terminal it is in: %s", error)
            return Sequence.NONE
        passes, _, name = answer.partition("|")
        if passes in {"0", "off"}:  # tmux before 3.3 has no such option, and passes everything
            logger.info("tmux passes no notification on: set -g allow-passthrough on")
            return Sequence.NONE
        return sequence_of(name)


NAMING = ("LC_TERMINAL", "TERM_PROGRAM", "TERM")
"""Variables that name the terminal; ssh passes on the last, and often the first."""
TMUX_NAMES = "#{allow-passthrough}|#{client_termtype} #{client_termname}"
