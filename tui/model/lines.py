"""The rows of the dashboard's lists, as values: one class a list. Pure.

Each row has a `key` that stays the same from poll to poll, a `tone`, and the words that a filter looks in.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from shared.api.models import Inbox, Lead, Sequence, StatsRow
from shared.domain.card import Tone
from shared.domain.health import DomainHealth, Verdict
from shared.domain.reports import rate


class Line(Protocol):
    """A row of a list."""

    @property
    def key(self) -> str: ...  # the class says it
    @property
    def tone(self) -> Tone: ...  # likewise
    @property
    def words(self) -> str: ...  # likewise


@dataclass(frozen=True, slots=True)
class InboxLine:
    """An inbox, how it stands, and what it sent and was answered in the last 30 days."""

    inbox: Inbox
    verdict: Verdict
    stats: StatsRow | None = None
    trend: tuple[float, ...] = ()
    """Health, oldest first."""

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
class DomainLine:
    """A domain and how its inboxes stand."""

    domain: DomainHealth

    @property
    def key(self) -> str:
        return self.domain.domain

    @property
    def tone(self) -> Tone:
        return self.domain.tone

    @property
    def words(self) -> str:
        return f"{self.domain.domain} {' '.join(self.domain.reasons)}"


@dataclass(frozen=True, slots=True)
class StatsLine:
    """One group's counts, with a name for people where the service gives an id."""

    stats: StatsRow
    name: str

    @property
    def key(self) -> str:
        return self.stats.group

    @property
    def tone(self) -> Tone:
        return Tone.UNKNOWN if self.stats.sends is None else Tone.INFO

    @property
    def words(self) -> str:
        return f"{self.name} {self.stats.group}"

    @property
    def reply_rate(self) -> float | None:
        return rate(self.stats.replies, self.stats.sends)


@dataclass(frozen=True, slots=True)
class LeadLine:
    """A lead who is interested."""

    lead: Lead

    @property
    def key(self) -> str:
        return self.lead.id

    @property
    def tone(self) -> Tone:
        return Tone.GOOD

    @property
    def name(self) -> str:
        full = " ".join(part for part in (self.lead.first_name, self.lead.last_name) if part)
        return full or self.lead.email or self.lead.id

    @property
    def words(self) -> str:
        return f"{self.name} {self.lead.company or ''} {self.lead.email or ''}"


@dataclass(frozen=True, slots=True)
class ChangeLine:
    """Something that became different between two polls."""

    at: datetime
    subject: str
    text: str
    tone: Tone = Tone.INFO

    @property
    def key(self) -> str:
        return f"{self.at.timestamp():.0f} {self.subject} {self.text}"

    @property
    def words(self) -> str:
        return f"{self.subject} {self.text}"
