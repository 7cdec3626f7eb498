"""The bot's records as a protocol, because the commands are below the bot and can't import it.

The bot's store implements it; `cli` passes the store to the shell's commands and the dashboard.
All times are aware datetimes in UTC.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, Protocol

from shared.domain.guard_records import GuardRecords
from shared.domain.sequence_changes import SequenceChanges


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who does something, and where: `face` is slack, shell, dashboard or bot (a timer)."""

    name: str
    id: str = ""
    face: str = "shell"
    channel: str = ""


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
    unknown_timers: tuple[str, ...] = ()
    """Kinds of timers that are due and that this version does not know."""
    timers: Mapping[str, int] = field(default_factory=dict)
    """The number of timed pauses by workspace, including workspaces no longer in the settings."""

    def orphaned_timers(self, workspaces: Iterable[str]) -> Mapping[str, int]:
        """Those of `timers` that belong to none of these workspaces, and so are never carried out."""
        known = {name.lower() for name in workspaces}
        return {name: count for name, count in self.timers.items() if name.lower() not in known}


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenReply:
    """An unclaimed interested reply."""

    alert_id: str
    received_at: datetime
    lead: str
    email: str
    company: str
    sequence: str
    permalink: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InterestedReply:
    """An interested reply that the bot has recorded, and who claimed it (empty: no one yet)."""

    email: str
    received_at: datetime
    sequence: str = ""
    claimed_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadReply:
    """The newest reply of a lead that was delivered."""

    alert_id: str
    received_at: datetime
    sequence: str
    """Its name, or an id where the delivery told no name."""
    step: int | None
    text: str
    lead: str = ""
    company: str = ""
    status: str = ""
    """Who takes care of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimTime:
    """How long an interested reply waited until it was claimed."""

    name: str
    sequence: str
    waited: timedelta
    at: datetime
    """When it was taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PositiveReply:
    """An interested reply, and how long it took until it was claimed or marked done (None: not yet)."""

    at: datetime
    sequence: str = ""
    touched_after: timedelta | None = None
    lead: str = ""
    company: str = ""
    email: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainIncident:
    """A domain that the service paused, or a spike of bounces or opt-outs: who acknowledged it, when it was over."""

    at: datetime
    text: str
    handled_by: str = ""
    handled_at: datetime | None = None
    recovered_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodRecords:
    """What the bot recorded from one moment until before another, each the first first."""

    positive: Sequence[PositiveReply] = ()
    incidents: Sequence[DomainIncident] = ()
    changes: Sequence[AuditEntry] = ()
    """Sequences that were paused and resumed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """What one channel wants to be told. Empty `sequence` and `inbox` mean all."""

    channel: str
    event: str
    sequence: str = ""
    inbox: str = ""
    condensed: bool = False


Effect = Literal["", "paused", "resumed", "refused", "failed"]
"""The effect of a change; empty if it didn't pause or resume sequences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One act that changed something, failed or was refused."""

    at: datetime
    actor: Actor
    workspace: str
    command: str
    result: str
    effect: Effect = ""
    sequences: tuple[str, ...] = ()
    """The ids of those that it paused or resumed."""
    reason: str = ""
    """Of a pause."""


TIMER_KINDS = frozenset({"resume"})
"""What this version does by timer; what is of another kind was set by a newer one, and waits for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timer:
    """A task for later, run once by any bot process; `key` is unique within a kind."""

    kind: str
    key: str
    due_at: datetime
    payload: Mapping[str, str] = field(default_factory=dict)


class Records(Protocol):
    """The durable side of the commands. Raises `RecordsUnavailable` when the database does not answer."""

    @property
    def guardrails(self) -> GuardRecords: ...
    @property
    def changes(self) -> SequenceChanges: ...
    async def bot_is_running(self) -> bool: ...
    async def summary(self, workspace: str) -> AlertsSummary: ...
    async def open_replies(self, workspace: str) -> Sequence[OpenReply]: ...
    async def interested_replies(self, workspace: str) -> Sequence[InterestedReply]: ...
    async def last_reply(self, workspace: str, email: str) -> LeadReply | None: ...
    async def claim_times(self, workspace: str, since: datetime) -> Sequence[ClaimTime]: ...
    async def done_times(self, workspace: str, since: datetime) -> Sequence[tuple[str, datetime]]: ...
    async def domain_sequences(self, workspace: str, domain: str, since: datetime) -> Sequence[str]: ...
    async def last_changes(self, workspace: str, sequences: Sequence[str]) -> Mapping[str, AuditEntry]: ...
    async def arrivals(self, workspace: str, since: datetime, until: datetime) -> Mapping[str, int]: ...
    async def period(self, workspace: str, since: datetime, until: datetime) -> PeriodRecords: ...
    async def subscriptions(self, workspace: str, channel: str) -> Sequence[Subscription]: ...
    async def subscribe(self, workspace: str, subscriptions: Sequence[Subscription]) -> None: ...
    async def unsubscribe(self, workspace: str, subscriptions: Sequence[Subscription]) -> int: ...
    async def digest_at(self, workspace: str, channel: str) -> str | None: ...
    async def set_digest(self, workspace: str, channel: str, at: str | None) -> None: ...
    async def give_up_channel(self, channel: str) -> None: ...
    async def audit(self, workspace: str, limit: int = 20) -> Sequence[AuditEntry]: ...
    async def record(self, entry: AuditEntry) -> None: ...
    async def set_timer(self, workspace: str, timer: Timer) -> None: ...
    async def cancel_timer(self, workspace: str, kind: str, key: str) -> bool: ...
    async def timers(self, workspace: str, kind: str) -> Sequence[Timer]: ...


class RecordsUnavailable(Exception):
    """The bot's database does not answer at the moment."""
