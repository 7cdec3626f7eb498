"""The records of the bot, as the commands and the dashboard read them: acts, replies, domains, pauses, guardrails.

Times are aware datetimes in UTC unless said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import date, datetime
from typing import Literal

from shared.api.words import SequenceStatus
from shared.frozen import frozen

# -- acts


@frozen
class Actor:
    """A person who does something, and the place: `face` is slack, shell, dashboard, web (a browser) or bot (a timer)."""

    name: str
    id: str = ""
    """The id of a user of Slack; where there is none, the name tells who it is."""
    face: str = "shell"
    channel: str = ""
    via: str = ""
    """`assistant` where an assistant reads in this name."""

    @property
    def shown(self) -> str:
        """`@ann`, as cards and threads call people of Slack; others by their names."""
        is_of_slack = self.face == "slack" or (self.face == "dashboard" and self.id)
        return f"@{self.name}" if is_of_slack else self.name


ASSISTANT = "assistant"
Effect = Literal["", "paused", "resumed", "refused", "failed", "read"]
"""The effect of a change; empty if it didn't pause or resume sequences. A call of an assistant is `read`."""


@frozen
class Now:
    """The present state of a sequence, and who made it so; `by` is empty where a timer did."""

    status: SequenceStatus
    ends_at: float | None = None
    """The end of its pause, in Unix seconds."""
    by: str = ""


@frozen
class Before:
    """The state of a sequence before a change, which an Undo restores, and what became of it since."""

    label: str
    status: SequenceStatus
    revision: int | None = None
    """The number of its changes with this one: at another number someone has changed it since. None: unknown."""
    ends_at: float | None = None
    """The end that its pause had, in Unix seconds."""
    reason: str = ""
    new_end: float | None = None
    """The end that the change gave its pause, in Unix seconds."""
    later: Now | None = None
    """The state that the last change since gave it; None where nobody changed it but an Undo of this very change."""


@frozen
class AuditEntry:
    """One act that changed something, failed or was refused, or a call of an assistant."""

    at: datetime
    actor: Actor
    workspace: str
    command: str
    result: str
    effect: Effect = ""
    sequences: tuple[str, ...] = ()
    """The ids of those that it paused or resumed, or whose pause it gave another end."""
    reason: str = ""
    """The reason of the pause."""
    undoable: Mapping[str, Before] = field(default_factory=dict)
    """The part of `sequences` that an Undo takes back, as they were before."""
    undoes: int = 0
    """The number of the entry that it took back."""
    number: int = 0
    """Its own, once it is stored."""
    undone_by: str = ""
    overtaken_by: str = ""
    """The person who changed all of its sequences since."""

    def state_of(self, sequence: str) -> Now:
        """The present state of one of `undoable`."""
        before = self.undoable[sequence]
        if before.later:
            return before.later
        if self.undone_by:
            return Now(status=before.status, ends_at=before.ends_at, by=self.undone_by)
        return self.state_after(sequence)

    def state_after(self, sequence: str) -> Now:
        """The state that this change gave a sequence."""
        is_paused, before = self.effect == "paused", self.undoable.get(sequence)
        is_timer = self.actor.face == "bot" and not is_paused
        return Now(
            status="paused" if is_paused else "active",
            ends_at=before.new_end if before else None,
            by="" if is_timer else self.actor.shown,
        )


# -- replies, domains and pauses


@frozen
class InterestedReply:
    """An interested reply that the bot has recorded, and who claimed it (empty: no one yet)."""

    email: str
    received_at: datetime
    sequence: str = ""
    claimed_by: str = ""


@frozen
class Waits:
    """The waits of the replies of one person, or all of them, in seconds."""

    name: str = ""
    count: int = 0
    median: float | None = None
    p90: float | None = None
    """The ninetieth percentile by nearest rank."""
    in_time: int = 0
    """The number of those that were not late."""


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


LOCK_SECONDS = 15.0
"""The longest delay that a dead process causes to the next change; a living one renews its lock."""
UNDER_WAY = -1
"""The revision of a sequence that someone is changing, or died while changing."""


@frozen
class SequenceChange:
    """A change under way, locked by `token`."""

    workspace: str
    sequence: str
    status: SequenceStatus
    """The status that the service is asked for."""
    token: int
    revision: int
    """The number of changes before this one."""
    is_certain: bool
    """False where an unanswered request, also of a process that died, may change the status besides."""
    timer: Timer | None = None
    """The timer as it was before the change."""
    confirmed: str = ""
    """The status that was confirmed last; empty where none is certain."""


@frozen
class Timer:
    """The end of a timed pause, carried out once by any bot process; `key` is the id of the sequence."""

    key: str
    due_at: datetime
    payload: Mapping[str, str] = field(default_factory=dict)


@frozen
class Pauses:
    """The records of the sequences of a workspace at one moment, by their ids."""

    revisions: Mapping[str, int] | None = None
    """The numbers of their changes; none is 0. None: the records can't be read."""
    timers: Mapping[str, Timer] = field(default_factory=dict)
    """The ends of the timed pauses, the next one first."""


# -- guardrails: rules, switches, incidents and counts

POLL, HEALTH, CLOSED = "poll", "health", "closed"
"""Scopes of samples beside sequence and inbox: the reading itself, the score of an inbox, a day whose counts are whole."""
ALL = ""
"""In place of a workspace and a rule: the switch of all guardrails."""
ALL_RULES = "all guardrails"
"""The setting that every workspace has in common: messages about it are one another's, whichever workspace they name."""
_EPOCH = date(1970, 1, 1).toordinal()


def number_of(day: date) -> int:
    """Days since 1970-01-01, by which samples name a day."""
    return day.toordinal() - _EPOCH


def day_of(number: int) -> date:
    return date.fromordinal(number + _EPOCH)


@frozen
class Happening:
    """A delivery, without its words."""

    at: float
    kind: str
    sequence: str = ""
    inbox: str = ""
    domain: str = ""


@frozen
class CountSample:
    """The counts of one service day up to a moment, for a sequence's name or an inbox's address.

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


@frozen
class StoredRule:
    """A rule that was added by a command."""

    name: str
    sentence: str
    added_by: str = ""
    """The Slack id of who added it; empty for a shell."""
    added_name: str = ""


@frozen
class Switch:
    """A rule that is off or snoozed; `ALL` for all of them. `until` None: until a person turns it on."""

    rule: str
    by: str
    at: float
    until: float | None = None


@frozen
class RuleFinding:
    """That a rule fired about one subject, and what it does."""

    workspace: str
    rule: str
    sentence: str
    action: str
    subject: str
    label: str
    note: str
    """The measurement in words."""
    domain: str = ""
    """The domain in trouble, in small letters: all that is found on one is told once. Empty where it is told by itself."""
    sequences: tuple[str, ...] = ()
    """The ids of the sequences that it pauses."""
    resumes_at: float | None = None


@frozen
class Incident(RuleFinding):
    """A finding that was acted on and told once, and is open until its condition is long over."""

    id: int
    began_at: float
    held_at: float
    ended_at: float | None = None
    state: str = "done"
    """decided, done or failed."""
    told: str = ""
    """The message that tells of it, alone or with others of its domain; empty: it has none, or that of its act."""
