"""The models of the outreach service.

Every field except an id can be None: unknown, not zero or healthy. A status is one of the documented words, or any
other that the service sends.
`raw` keeps the whole object as the service sent it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Generic, Literal, TypeVar, cast, get_args

from .event_kinds import DELIVERED

T = TypeVar("T")

LeadStatus = Literal["active", "replied", "interested", "bounced", "unsubscribed", "completed"]
SequenceStatus = Literal["active", "paused"]
InboxStatus = Literal["active", "warming", "resting"]
EventKind = Literal[  # those of `event_kinds` that the service delivers, for the type checkers of those who use the client
    "lead.replied",
    "reply.interested",
    "reply.ooo",
    "lead.bounced",
    "lead.unsubscribed",
    "sequence.completed",
    "domain.paused",
]
Grouping = Literal["sequence", "step", "variant", "inbox"]

LEAD_STATUSES: tuple[LeadStatus, ...] = get_args(LeadStatus)
SEQUENCE_STATUSES: tuple[SequenceStatus, ...] = get_args(SequenceStatus)
INBOX_STATUSES: tuple[InboxStatus, ...] = get_args(InboxStatus)
EVENT_KINDS = cast("tuple[EventKind, ...]", DELIVERED)
GROUPINGS: tuple[Grouping, ...] = get_args(Grouping)
COUNTS = ("sends", "replies", "positive_replies", "meetings")

NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """A person who gets the emails of a sequence."""

    id: str
    email: str | None = None
    status: LeadStatus | str | None = None
    first_name: str | None = None
    last_name: str | None = None
    company: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sequence:
    """A series of emails; `steps` is a count."""

    id: str
    name: str | None = None
    status: SequenceStatus | str | None = None
    steps: int | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def label(self) -> str:
        """Its name, or its id if it has none."""
        return self.name or self.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbox:
    """A connected sending address; health 0-100, daily limit in messages."""

    email: str
    id: str | None = None
    health_score: float | None = None
    daily_limit: int | None = None
    status: InboxStatus | str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def domain(self) -> str:
        """The part after the last @, in lower case; empty if the address is unknown."""
        return self.email.rpartition("@")[2].lower() if "@" in self.email else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsRow:
    """Counts of one group over a range of days."""

    group: str
    id: str | None = None
    """What identifies the group, where the service says it: names may be shared."""
    sends: int | None = None
    replies: int | None = None
    positive_replies: int | None = None
    meetings: int | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A lead that wasn't added, with the reason if the service gives one."""

    email: str | None = None
    reason: str | None = None
    raw: Any = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddResult:
    """What POST /leads did.

    `repeated` is True when the request was sent twice after an uncertain outcome, so that some of `skipped`
    may be what the first sending added.
    """

    added: int | None
    skipped: tuple[Skipped, ...] = ()
    repeated: bool = False
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """A webhook subscription; the service shows `secret` only once."""

    id: str
    secret: str = field(repr=False)
    url: str = ""
    events: tuple[str, ...] = ()
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """One page of a list, and the cursor of the next (None: this was the last)."""

    items: tuple[T, ...]
    next_cursor: str | None = None


def as_dict(model: Lead | Sequence | Inbox | StatsRow) -> dict[str, Any]:
    """All fields except `raw`, under the service's names."""
    return {one.name: getattr(model, one.name) for one in fields(model) if one.name != "raw"}
