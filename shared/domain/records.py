"""The bot's records as protocols, because the commands are below the bot and can't import it.

The bot's store implements them; `cli` passes the store to the shell's commands and the dashboard.
All times of `Records` are aware datetimes in UTC.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from shared.domain_health.report import DomainChange, DomainReport

POLL, HEALTH, CLOSED = "poll", "health", "closed"
"""Scopes of samples beside sequence and inbox: the reading itself, the score of an inbox, a day whose counts are whole."""
ALL = ""
"""In place of a workspace and a rule: the switch of all guardrails."""


_EPOCH = date(1970, 1, 1).toordinal()


def number_of(day: date) -> int:
    """Days since 1970-01-01, by which samples name a day."""
    return day.toordinal() - _EPOCH


def day_of(number: int) -> date:
    return date.fromordinal(number + _EPOCH)


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """A delivery, without its words."""

    at: float
    kind: str
    sequence: str = ""
    inbox: str = ""
    domain: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountSample:
    """How far the counts of one service day stood at a moment, for a sequence's name or an inbox's address.

    A count is None where the service left it out.
    """

    scope: str
    key: str
    day: int
    """Days since 1970-01-01."""
    at: float
    sends: int | None = 0
    replies: int | None = 0
    positive: int | None = 0
    health: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRule:
    """A rule that was added by a command."""

    name: str
    sentence: str
    added_by: str = ""
    """The Slack id of who added it; empty for a shell."""
    added_name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """A rule that is off or snoozed; `ALL` for all of them. `until` None: until a person turns it on."""

    rule: str
    by: str
    at: float
    until: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """A rule that fired about one subject: acted on and told once, and open until its condition is long over."""

    id: int
    workspace: str
    rule: str
    sentence: str
    action: str
    subject: str
    label: str
    began_at: float
    held_at: float
    ended_at: float | None = None
    state: str = "done"
    """decided, acting, done or failed."""
    sequences: Sequence[str] = ()
    """The ids of the sequences that it pauses."""
    requested: Sequence[str] = ()
    """Those of them whose pause was asked of the service: only these can be paused by the rule."""
    note: str = ""
    """What was measured, in words."""
    token: int = 0
    attempts: int = 0
    resumes_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseEnd:
    """When a timed pause of a sequence ends, in Unix seconds, and who paused it."""

    sequence: str
    until: float
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemStart:
    """When something began to be wrong, and when it became of its present kind, in Unix seconds."""

    key: str
    kind: str
    since: float
    kind_since: float
    is_older: bool = False
    """It held already at the first look: it began at `since` or before."""


class GuardRecords(Protocol):
    """The durable side of guardrails. Raises `RecordsUnavailable` when the database does not answer."""

    async def rules(self, workspace: str) -> Sequence[StoredRule]: ...
    async def add_rule(self, workspace: str, rule: StoredRule) -> bool: ...
    async def remove_rule(self, workspace: str, name: str) -> bool: ...
    async def switches(self, workspace: str) -> Sequence[Switch]: ...
    async def switch_off(self, workspace: str, switch: Switch) -> None: ...
    async def switch_on(self, workspace: str, rule: str) -> bool: ...
    async def incidents(self, workspace: str, since: float) -> Sequence[Incident]: ...
    async def happenings(self, workspace: str, since: float, until: float = ...) -> Sequence[Happening]: ...
    async def samples(
        self, workspace: str, since: float, until: float = ..., *, last_only: bool = ...
    ) -> Sequence[CountSample]:
        """The counts within a time; or only the last ones of each day in it: no window begins or ends there."""
        ...

    async def heard_since(self, workspace: str) -> float | None: ...
    async def sends_of_days(self, workspace: str, days: Sequence[int]) -> Mapping[int, int]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Absence:
    """A person who said that they are away; `until` None: until they say that they are back."""

    person: str
    name: str
    until: datetime | None = None


class Absences(Protocol):
    """Who is away from the rotas. Raises `RecordsUnavailable` when the database does not answer."""

    async def leave(self, person: Actor, *, until: float | None) -> None: ...
    async def come_back(self, person: str) -> bool:
        """False: they weren't away."""
        ...

    async def absences(self) -> Sequence[Absence]: ...


class DomainRecords(Protocol):
    """What the bot knows of the domains' DNS. Raises `RecordsUnavailable` when the database does not answer."""

    async def reports(self, names: Collection[str] | None = None) -> Mapping[str, DomainReport]:
        """How these domains stand, or all; those that were never checked are left out."""
        ...

    async def changes(self, names: Collection[str], since: datetime) -> Sequence[DomainChange]:
        """How their DNS changed since then, the newest first."""
        ...

    async def broken(self, workspace: str) -> Mapping[str, Sequence[str]]:
        """The domains of a workspace with a confirmed problem, and which of its checks have one."""
        ...

    async def broken_since(
        self, workspace: str, since: datetime
    ) -> Sequence[tuple[float, Mapping[str, Sequence[str]]]]:
        """Which of a workspace's domains were broken, at each time since then when that changed."""
        ...


Status = Literal["paused", "active"]
LOCK_SECONDS = 15.0
"""How long a dead process delays the next change at most; a living one renews its lock."""
UNDER_WAY = -1
"""In place of a revision: somebody is changing the sequence, or died while doing so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceChange:
    """A change under way, locked by `token`."""

    workspace: str
    sequence: str
    status: Status
    """What the service is asked for."""
    token: int
    revision: int
    """The number of changes before this one; `UNDER_WAY` if a dead process may have sent a request."""
    timer: Timer | None = None
    """The timer as it was before the change."""
    confirmed: str = ""
    """The status that was confirmed last; empty where none is certain."""

    def undisturbed(self, revisions: Mapping[str, int] | None) -> bool:
        """Whether nobody has changed the sequence since these revisions were read; None: they weren't."""
        return revisions is not None and self.revision == revisions.get(self.sequence, 0) != UNDER_WAY


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeResult:
    """The end of a change, written together with its timer."""

    outcome: Literal["confirmed", "unchanged", "uncertain"]
    """`unchanged`: surely nothing was done. `uncertain`: the service may have done it, or may still do it."""
    late: bool = False
    """An attempt was never answered: the service may still carry it out."""
    timer: Timer | None = None
    keep_timer: bool = False
    """Leave the timer as it is; else it becomes `timer`, or none."""


class SequenceChanges(Protocol):
    """The locks of the sequences. Raises `RecordsUnavailable` when the database does not answer."""

    async def revisions(self, workspace: str) -> Mapping[str, int]:
        """The number of changes of each sequence that ever was changed, or `UNDER_WAY`."""
        ...

    async def begin(self, workspace: str, sequence: str, *, status: Status) -> SequenceChange | None:
        """Lock a sequence; None while another change is under way."""
        ...

    async def renew(self, change: SequenceChange) -> bool:
        """Keep the lock; False: it expired, and another change has begun."""
        ...

    async def end(self, change: SequenceChange, result: ChangeResult) -> bool:
        """Unlock, and write down the result; False: as in `renew`, and no timer was touched."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who does something, and where: `face` is slack, shell, dashboard, web (a browser) or bot (a timer)."""

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
    """An interested reply that is unclaimed, or claimed and not done."""

    alert_id: str
    received_at: datetime
    lead: str
    email: str
    company: str
    sequence: str
    reply: str = ""
    """The beginning of what the lead wrote."""
    permalink: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnclaimedReplies:
    """The unclaimed interested replies of a workspace: how many there are, and a part of them, the oldest first."""

    count: int = 0
    oldest_at: datetime | None = None
    replies: Sequence[OpenReply] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedReply:
    """A lead that replied, by the event of it that says most; who takes care of it by name (empty: no one)."""

    kind: str
    reply: OpenReply
    claimed_by: str = ""
    done_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedReplies:
    """Who replied in a period: how many leads, and a part of them, the newest first."""

    count: int = 0
    replies: Sequence[ReceivedReply] = ()
    known_from: datetime | None = None
    """When the workspace's first delivery came; None: none has come, and nothing is known."""


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
class Waits:
    """How long the replies of one person, one sequence or all of them waited, in seconds."""

    name: str = ""
    count: int = 0
    median: float | None = None
    p90: float | None = None
    """By nearest rank."""
    in_time: int = 0
    """Those that waited no longer than was asked for."""


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
    domain: str = ""
    """Empty for a spike, and where the delivery named none."""
    handled_by: str = ""
    handled_at: datetime | None = None
    recovered_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodRecords:
    """What the bot recorded from one moment until before another, each the first first."""

    replies: int = 0
    """Interested ones."""
    touches: Waits = Waits()
    """From those replies until they were claimed or marked done, as far as they were."""
    incidents: Sequence[DomainIncident] = ()
    changes: Sequence[AuditEntry] = ()
    """Sequences that were paused and resumed."""
    lost: Sequence[datetime] = ()
    """When replies were found by polling whose delivery has not come to this day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainPause:
    """That the service paused a domain; `reason` as it named it, with its share of sends."""

    at: datetime
    reason: str = ""
    recovered_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainPast:
    """What the bot recorded of a domain since a moment."""

    reason: str = ""
    """Why the service paused it last; empty where it was not, or gave no reason."""
    pauses: tuple[DomainPause, ...] = ()
    """The newest first; a few."""
    bounced: int = 0
    hard: int = 0
    """Of `bounced`, the hard ones."""
    opted_out: int = 0
    known_from: datetime | None = None
    """When the workspace's first delivery came: what was before isn't counted."""
    sequences: tuple[str, ...] = ()
    """Names of the sequences that sent from it, the busiest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """What one channel wants to be told. Empty `sequence` and `inbox` mean all."""

    channel: str
    event: str
    sequence: str = ""
    inbox: str = ""
    condensed: bool = False


Grouping = Literal["", "person", "sequence"]
"""What waits are counted by; empty: all together."""
MOST_OPEN = 5_000
"""Unclaimed replies that are listed at most."""
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
    undoable: tuple[str, ...] = ()
    """Those of `sequences` that it changed from active to paused or back: what an undo takes back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Undoable:
    """A person's own change that can be taken back."""

    number: int
    """Of its entry in the audit."""
    entry: AuditEntry
    moved: Mapping[str, AuditEntry]
    """Those of its sequences that were changed since, with the last change of each."""
    revisions: Mapping[str, int]
    """How often each sequence has been changed, where that is certain."""


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
    async def received_replies(
        self, workspace: str, since: datetime, until: datetime, *, most: int
    ) -> ReceivedReplies:
        """Replies that were delivered from one moment until before another, one of each lead; `most` are listed."""
        ...

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
        """The newest acts first; `refused`: only those that were, or only the others."""
        ...

    async def last_undoable(
        self, workspace: str, actor: Actor, since: datetime, *, number: int = 0
    ) -> Undoable | None:
        """The newest change of this person that an undo takes back, or the one of this number; None: there is none."""
        ...

    async def record(self, entry: AuditEntry) -> None: ...
    async def set_timer(self, workspace: str, timer: Timer) -> None: ...
    async def cancel_timer(self, workspace: str, kind: str, key: str) -> bool: ...
    async def timers(self, workspace: str, kind: str) -> Sequence[Timer]: ...


class RecordsUnavailable(Exception):
    """The bot's database does not answer at the moment."""
