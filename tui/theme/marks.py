"""What happened at a moment, as marks on plots and lanes: their signs, colors and words. Pure.

Another kind of mark is one member of `MarkKind` and its look in `LOOKS`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tui.theme.palette import Ink


class MarkKind(StrEnum):
    """What happened; the more serious is named first, and stands where two fall into one cell."""

    STOPPED = "stopped sending"
    DNS_BROKEN = "DNS broken"
    GUARDRAIL = "guardrail"
    LOST_REPLY = "reply lost"
    PAUSED = "paused"
    SENDING = "sending again"
    DNS_GOOD = "DNS good again"
    RESUMED = "resumed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How a kind of mark is drawn, and called in the key of signs."""

    sign: str
    ink: Ink
    word: str


LOOKS = {
    MarkKind.STOPPED: Look(sign="○", ink=Ink.BAD, word="inboxes rest"),
    MarkKind.DNS_BROKEN: Look(sign="✗", ink=Ink.BAD, word="DNS broken"),
    MarkKind.GUARDRAIL: Look(sign="◆", ink=Ink.BAD, word="guardrail"),
    MarkKind.LOST_REPLY: Look(sign="⊘", ink=Ink.WARN, word="reply lost, found by polling"),
    MarkKind.PAUSED: Look(sign="‖", ink=Ink.WARN, word="sequence paused"),
    MarkKind.SENDING: Look(sign="●", ink=Ink.GOOD, word="inboxes send again"),
    MarkKind.DNS_GOOD: Look(sign="✓", ink=Ink.GOOD, word="DNS good again"),
    MarkKind.RESUMED: Look(sign="►", ink=Ink.GOOD, word="sequence resumed"),
}
SEVERITY = {kind: rank for rank, kind in enumerate(MarkKind)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Something that happened to `subject`, a domain, an inbox or a sequence by name; `about` is its key."""

    at: datetime
    kind: MarkKind
    subject: str
    text: str
    about: str = ""

    @property
    def look(self) -> Look:
        return LOOKS[self.kind]


def most_serious(marks: Iterable[Mark]) -> Mark | None:
    return min(marks, key=lambda mark: SEVERITY[mark.kind], default=None)
