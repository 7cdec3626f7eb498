"""The bot's records as protocols, because the commands are below the bot and can't import it.

The bot's store implements them; `cli` passes the store to the shell's commands and the dashboard.
All times of `Records` are aware datetimes in UTC.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from shared.records.audit import Absences, Actor, AuditEntry, Undoable
from shared.records.domains import DomainIncident, DomainPast, DomainRecords
from shared.records.guardrails import GuardRecords
from shared.records.replies import (
    MOST_OPEN,
    Grouping,
    InterestedReply,
    LeadReply,
    OpenReply,
    PositiveReply,
    UnclaimedReplies,
    Waits,
)
from shared.records.sequence_changes import SequenceChanges, Timer


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertsSummary:
    """How the alerts of a workspace stand."""

    waiting: int = 0
    oldest_waiting_at: datetime | None = None
    unclaimed: int = 0
    """Unclaimed interested replies."""
    oldest_unclaimed_at: datetime | None = None
    dead: int = 0
    """Rejected by Slack."""
    unsure: int = 0
    """Posts without a response that Slack doesn't let the bot look up: they may be there."""
    uncertain: int = 0
    """Posts without a response, being looked up."""
    held: int = 0
    """Kept back until the quiet hours end."""
    unreadable: int = 0
    """Deliveries with a good signature that were no known event, or no JSON."""
    last_delivery_at: datetime | None = None
    deliveries: Mapping[str, int] = field(default_factory=dict)
    """Deliveries of the last 24 hours by event kind."""
    broken_channels: Mapping[str, str] = field(default_factory=dict)
    """Channels that reject posts, and what Slack says of each."""
    refusals: Mapping[str, int] = field(default_factory=dict)
    """How many messages Slack refused, by its word for it."""
    unknown_timers: tuple[str, ...] = ()
    """Kinds of timers that are due and that this version does not know."""
    timers: Mapping[str, int] = field(default_factory=dict)
    """The number of timed pauses by workspace, including workspaces no longer in the settings."""

    def orphaned_timers(self, workspaces: Iterable[str]) -> Mapping[str, int]:
        """Those of `timers` that belong to none of these workspaces, and so are never carried out."""
        known = {name.lower() for name in workspaces}
        return {name: count for name, count in self.timers.items() if name.lower() not in known}


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodRecords:
    """What the bot recorded from one moment until before another, each the first first."""

    replies: int = 0
    """Interested ones."""
    touches: Waits = field(default_factory=Waits)
    """From those replies until they were claimed or marked done, as far as they were."""
    incidents: Sequence[DomainIncident] = ()
    changes: Sequence[AuditEntry] = ()
    """Sequences that were paused and resumed."""
    lost: Sequence[datetime] = ()
    """When replies were found by polling whose delivery has not come to this day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """What one channel wants to be told. Empty `sequence` and `inbox` mean all."""

    channel: str
    event: str
    sequence: str = ""
    inbox: str = ""
    condensed: bool = False


class Records(Protocol):
    """The durable side of the commands. Raises `RecordsUnavailable` when the database does not answer."""

    @property
    def guardrails(self) -> GuardRecords: ...
    @property
    def domains(self) -> DomainRecords: ...
    @property
    def changes(self) -> SequenceChanges: ...
    @property
    def turns(self) -> Absences: ...
    async def bot_is_running(self) -> bool: ...
    async def summary(self, workspace: str) -> AlertsSummary: ...
    async def open_replies(
        self, workspace: str, *, first: int = 0, most: int = MOST_OPEN
    ) -> UnclaimedReplies:
        """`most` replies, beginning with that of number `first` (counted from 0), and the count of all."""
        ...

    async def own_replies(self, person: str) -> Sequence[tuple[str, OpenReply]]: ...
    async def claim_counts(self, workspace: str, since: datetime) -> Mapping[str, int]: ...
    async def interested_replies(self, workspace: str) -> Sequence[InterestedReply]: ...
    async def last_reply(self, workspace: str, email: str) -> LeadReply | None: ...
    async def claim_times(
        self, workspace: str, since: datetime, until: datetime, *, by: Grouping = "", late: float
    ) -> Sequence[Waits]:
        """How long the replies waited that were claimed from one moment until before another, the most claims first.

        In time is what waited `late` seconds at most.
        """
        ...

    async def done_counts(self, workspace: str, since: datetime, until: datetime) -> Mapping[str, int]:
        """How many interested replies each person marked as done in this time."""
        ...

    async def domain_past(self, workspace: str, domain: str, since: datetime) -> DomainPast: ...
    async def domain_sequences(self, workspace: str, domain: str, since: datetime) -> Sequence[str]: ...
    async def last_changes(self, workspace: str, sequences: Sequence[str]) -> Mapping[str, AuditEntry]: ...
    async def arrivals(self, workspace: str, since: datetime, until: datetime) -> Mapping[str, int]: ...
    async def period(
        self, workspace: str, since: datetime, until: datetime, *, late: float
    ) -> PeriodRecords: ...
    async def positive_replies(
        self,
        workspace: str,
        since: datetime,
        until: datetime,
        *,
        most: int | None = None,
        named: bool = False,
    ) -> Sequence[PositiveReply]:
        """Interested replies of this time, the first first; who wrote them is read only if `named`."""
        ...

    async def subscriptions(self, workspace: str, channel: str) -> Sequence[Subscription]: ...
    async def subscribe(self, workspace: str, subscriptions: Sequence[Subscription]) -> None: ...
    async def unsubscribe(self, workspace: str, subscriptions: Sequence[Subscription]) -> int: ...
    async def digest_at(self, workspace: str, channel: str) -> str | None: ...
    async def set_digest(self, workspace: str, channel: str, at: str | None) -> None: ...
    async def give_up_channel(self, channel: str) -> None: ...
    async def audit(
        self, workspace: str, limit: int = 20, *, refused: bool | None = None
    ) -> Sequence[AuditEntry]:
        """The newest acts first; `refused`: only those that were, or only the others that are no reading."""
        ...

    async def assistant_calls(self, workspace: str, limit: int = 20) -> Sequence[AuditEntry]:
        """What assistants read, the newest first."""
        ...

    async def last_undoable(self, workspace: str, actor: Actor, since: datetime) -> Undoable | None:
        """The newest change of this person that is not undone; one that was not overtaken, if there is one."""
        ...

    async def undoable(self, workspace: str, number: int) -> Undoable | None:
        """The change with this number, undone or not; None: there is none that an Undo takes back."""
        ...

    async def take_undo(self, number: int, by: str) -> bool:
        """Use up the Undo of an entry; False: somebody else has."""
        ...

    async def give_back_undo(self, number: int) -> None:
        """Let the Undo of an entry be used again, because it could not be carried out."""
        ...

    async def record(self, entry: AuditEntry) -> int:
        """Write down who changed what; the number of the entry."""
        ...

    async def set_timer(self, workspace: str, timer: Timer) -> None: ...
    async def timers(self, workspace: str, kind: str) -> Sequence[Timer]: ...


class RecordsUnavailable(Exception):
    """The bot's database does not answer at the moment."""
