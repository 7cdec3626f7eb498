"""The records of alerts, replies, domains and pauses, as they are read. Times are aware datetimes in UTC unless said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Literal

from shared.frozen import frozen
from shared.records.audit import AuditEntry


@frozen
class InterestedReply:
    """An interested reply that the bot has recorded, and who claimed it (empty: no one yet)."""

    email: str
    received_at: datetime
    sequence: str = ""
    claimed_by: str = ""


@frozen
class Waits:
    """The waits of the replies of one person, one sequence or all of them, in seconds."""

    name: str = ""
    count: int = 0
    median: float | None = None
    p90: float | None = None
    """The ninetieth percentile by nearest rank."""
    in_time: int = 0
    """The number of those that waited no longer than was asked for."""


Grouping = Literal["", "person", "sequence"]
"""The property by which waits are counted; empty counts them together."""


@frozen
class AlertsSummary:
    """The state of a workspace's alerts."""

    counts: Mapping[str, int] = field(default_factory=dict)
    """Messages that wait, by state, and `unreadable`: signed deliveries of a day that weren't a known event, or JSON."""
    oldest_waiting_at: datetime | None = None
    unclaimed: int = 0
    """Unclaimed interested replies."""
    oldest_unclaimed_at: datetime | None = None
    last_delivery_at: datetime | None = None
    broken_channels: Mapping[str, str] = field(default_factory=dict)
    """Channels that reject posts, and what Slack says of each."""
    refusals: Mapping[str, int] = field(default_factory=dict)
    """The number of messages that Slack refused, by its word for it."""
    timers: Mapping[str, int] = field(default_factory=dict)
    """The number of timed pauses by workspace, including workspaces no longer in the settings."""

    def orphaned_timers(self, workspaces: Iterable[str]) -> Mapping[str, int]:
        """The part of `timers` that belongs to none of these workspaces, and so is never carried out."""
        names = {name.lower() for name in workspaces}
        return {name: count for name, count in self.timers.items() if name.lower() not in names}


@frozen
class DomainIncident:
    """A domain that the service paused: when it was acknowledged, when it was over."""

    at: datetime
    text: str
    domain: str = ""
    """Empty where the delivery named none."""
    handled_at: datetime | None = None
    recovered_at: datetime | None = None


@frozen
class DomainPause:
    """That the service paused a domain; `reason` as it named it, with its share of sends."""

    at: datetime
    reason: str = ""
    recovered_at: datetime | None = None


@frozen
class DomainPast:
    """The records of a domain since a moment."""

    reason: str = ""
    """The reason of its last pause by the service; empty where there was none, or no reason."""
    pauses: tuple[DomainPause, ...] = ()
    """The newest first; a few."""
    bounced: int = 0
    hard: int = 0
    """The hard ones among `bounced`."""
    opted_out: int = 0
    known_from: datetime | None = None
    """The time of the workspace's first delivery: nothing before it is counted."""
    sequences: tuple[str, ...] = ()
    """Names of the sequences that sent from it, the busiest first."""


@frozen
class PeriodRecords:
    """The records from one moment until before another, each the first first."""

    replies: int = 0
    """Interested ones."""
    touches: Waits = field(default_factory=Waits)
    """The waits of those replies until they were claimed or marked done."""
    incidents: Sequence[DomainIncident] = ()
    changes: Sequence[AuditEntry] = ()
    """Sequences that were paused and resumed."""
    lost: Sequence[datetime] = ()
    """The times at which replies were found by polling whose delivery has not come to this day."""


@frozen
class Subscription:
    """An event that a channel subscribes to. Empty `sequence` and `inbox` mean all."""

    channel: str
    event: str
    sequence: str = ""
    inbox: str = ""
    condensed: bool = False


class RecordsUnavailable(Exception):
    """The bot's database does not answer at the moment."""


class HistoryUnavailable(Exception):
    """The history's database does not answer at the moment."""


@frozen
class Sample:
    """A health score that held from `at` on."""

    at: datetime
    value: float | None


@frozen
class Transition:
    """A thing that went from one word to another: inbox a@x.com, status, active -> resting."""

    at: datetime
    kind: str
    key: str
    label: str
    field: str
    before: str
    after: str


@frozen
class PauseEnd:
    """The end of a timed pause of a sequence, in Unix seconds, and who paused it."""

    sequence: str
    until: float
    by: str = ""


Status = Literal["paused", "active"]
LOCK_SECONDS = 15.0
"""The longest delay that a dead process causes to the next change; a living one renews its lock."""
UNDER_WAY = -1
"""The revision of a sequence that someone is changing, or died while changing."""


@frozen
class SequenceChange:
    """A change under way, locked by `token`."""

    workspace: str
    sequence: str
    status: Status
    """The status that the service is asked for."""
    token: int
    revision: int
    """The number of changes before this one; `UNDER_WAY` if a dead process may have sent a request."""
    number: int = 0
    """The number of changes before this one, also where it is uncertain whether they were all."""
    timer: Timer | None = None
    """The timer as it was before the change."""
    confirmed: str = ""
    """The status that was confirmed last; empty where none is certain."""


@frozen
class ChangeResult:
    """The end of a change, written together with its timer."""

    outcome: Literal["confirmed", "unchanged", "uncertain"]
    """`unchanged`: surely nothing was done. `uncertain`: the service may have done it, or may still do it."""
    late: bool = False
    """An attempt was never answered: the service may still carry it out."""
    timer: Timer | None = None
    keep_timer: bool = False
    """Leave the timer as it is; else it becomes `timer`, or none."""


@frozen
class Timer:
    """The end of a timed pause, carried out once by any bot process; `key` is the id of the sequence."""

    key: str
    due_at: datetime
    payload: Mapping[str, str] = field(default_factory=dict)
