"""The rows of the dashboard's lists, as values: one class a list. Pure.

Each row has a `key` that stays the same between polls, and the words that a filter searches.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum
from typing import Any, Protocol

from shared.api.models import Inbox, Lead, Sequence, StatsRow
from shared.domain.card import Tone
from shared.domain.health import DEFAULT, Thresholds, Verdict
from shared.domain.snapshot import Reading
from shared.frozen import frozen
from shared.records import PauseEnd
from tui.theme.words import ago


@frozen
class PageRef:
    """The subject of a page: its kind, and the key of the line."""

    kind: str
    key: str = ""


class Line(Protocol):
    """A row of a list."""

    @property
    def key(self) -> str: ...  # the class says it
    @property
    def words(self) -> str: ...  # likewise


class Toned(Protocol):
    """A row with a sign of how it stands."""

    @property
    def tone(self) -> Tone: ...  # the class says it


# Slots, here and below: of inboxes there are ten thousand.
@dataclass(frozen=True, slots=True)
class InboxLine:
    """An inbox with its state, and its sends and replies of the last 30 days."""

    inbox: Inbox
    verdict: Verdict
    stats: StatsRow | None = None
    trend: tuple[float, ...] = ()
    """Health, oldest first."""
    thresholds: Thresholds = DEFAULT

    @property
    def key(self) -> str:
        return self.inbox.email

    @property
    def tone(self) -> Tone:
        return self.verdict.tone

    @property
    def words(self) -> str:
        return " ".join((self.inbox.email, self.inbox.status or "", self.verdict.word, *self.verdict.reasons))


@dataclass(frozen=True, slots=True)
class SequenceLine:
    """A sequence, what it did in the last 30 days, and what a person has just asked of it."""

    sequence: Sequence
    stats: StatsRow | None = None
    pending: str = ""
    """`pausing…`, until a read proves it."""
    pause: PauseEnd | None = None
    """The end of its pause, where that is known."""
    is_namesake: bool = False
    """Another sequence has the same name: the id tells them apart."""

    @property
    def label(self) -> str:
        return f"{self.sequence.label} ({self.key})" if self.is_namesake else self.sequence.label

    @property
    def key(self) -> str:
        return self.sequence.id

    @property
    def tone(self) -> Tone:
        return {"active": Tone.GOOD, "paused": Tone.WARN}.get(self.sequence.status or "", Tone.UNKNOWN)

    @property
    def words(self) -> str:
        return f"{self.sequence.label} {self.sequence.id} {self.sequence.status or ''}"


@dataclass(frozen=True, slots=True)
class StatsLine:
    """One group's counts, with a name for people where the service gives an id."""

    stats: StatsRow
    name: str
    id: str
    """The id of the sequence that it counts."""

    @property
    def key(self) -> str:
        return self.id or self.stats.group

    @property
    def words(self) -> str:
        return f"{self.name} {self.stats.group}"


def lead_name(lead: Lead) -> str:
    full = " ".join(filter(None, (lead.first_name, lead.last_name)))
    return full or lead.email or lead.id


FAILING = 20.0
"""Seconds of failed reads after which what was read before them may no longer be true."""
LATE, VERY_LATE = 2.0, 5.0
"""Numbers of intervals without a successful read."""
GRACE = 5.0
"""Seconds that any read may take."""


class Freshness(IntEnum):
    """The meaning of an age; the larger, the worse."""

    FRESH = 0
    NEVER = 1
    LATE = 2
    VERY_LATE = 3


@dataclass(frozen=True, slots=True)
class Stamp:
    """The last read of a panel's data, and the seconds between two reads."""

    reading: Reading[Any]
    interval: float

    def freshness(self, now: datetime) -> Freshness:
        at = self.reading.read_at
        if at is None:
            return Freshness.NEVER
        age = (now - at).total_seconds()
        if age > VERY_LATE * self.interval + GRACE:
            return Freshness.VERY_LATE
        since = self.reading.failed_since
        is_failing = since is not None and now - since > timedelta(seconds=FAILING)
        is_late = is_failing or age > LATE * self.interval + GRACE
        return Freshness.LATE if is_late else Freshness.FRESH

    def counted(self, listed: int) -> str:
        """Write how many there are: `50+` for a page of a longer list."""
        return f"{listed:,}+" if self.reading.more else f"{listed:,}"

    def words(self, now: datetime) -> str:
        """Write the age for the panel's head: `12 s ago`, `late: 4 min ago`."""
        at = self.reading.read_at
        if at is None:
            return "no response yet" if self.reading.error else "reading…"
        late = {Freshness.LATE: "late: ", Freshness.VERY_LATE: "stale: "}.get(self.freshness(now), "")
        return late + ago(at, now=now)
