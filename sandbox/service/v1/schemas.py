"""The shapes of `/v1`, declared once for checking requests and for the OpenAPI document."""

from __future__ import annotations

import datetime as dt
import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from typing_extensions import TypeAliasType

# Aliases have a name in the OpenAPI document, so that a generated client has one enumeration of each.
LeadStatus = TypeAliasType(
    "LeadStatus", Literal["active", "replied", "interested", "bounced", "unsubscribed", "completed"]
)
SequenceStatus = TypeAliasType("SequenceStatus", Literal["active", "paused"])
InboxStatus = TypeAliasType("InboxStatus", Literal["active", "warming", "resting"])
Grouping = TypeAliasType("Grouping", Literal["sequence", "variant", "step", "inbox"])
SkipReason = TypeAliasType("SkipReason", Literal["duplicate", "blocklisted"])
BounceType = TypeAliasType("BounceType", Literal["hard", "soft"])
PauseReason = TypeAliasType("PauseReason", Literal["bounce_rate", "complaint_rate"])
EventKind = TypeAliasType(
    "EventKind",
    Literal[
        "lead.replied",
        "reply.interested",
        "reply.ooo",
        "lead.bounced",
        "lead.unsubscribed",
        "sequence.completed",
        "domain.paused",
    ],
)
ErrorCode = TypeAliasType(
    "ErrorCode",
    Literal["bad_request", "unauthorized", "not_found", "rate_limited", "method_not_allowed", "server_error"],
)

_PORT = r"(:(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3}))?"
_LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]{0,30}[A-Za-z0-9])?"
# What the OpenAPI document promises to take; numeric addresses of public hosts are taken, too.
ALLOWED_URL = (
    rf"^(https://({_LABEL}\.){{1,6}}(?!([Ll]ocal(host)?|[Ii]nternal|[Ll]an)([:/]|$))[a-z]{{2,20}}"
    rf"|https?://(localhost|127\.0\.0\.1)){_PORT}(/[!-~]*)?$"
)
_LETTERS = r"0-9A-Za-z\u00c0-\u167f\u3041-\ud7a3"
EMAIL = rf"^[{_LETTERS}!#$%&'*+/=?^_`{{|}}~.-]+@[{_LETTERS}-]+(\.[{_LETTERS}-]+)+$"
Email = Annotated[str, StringConstraints(pattern=EMAIL, min_length=6, max_length=254)]
Text = Annotated[str, StringConstraints(max_length=500, pattern=r"^[^\x00]*$")]


def _iso(value: object) -> object:
    """Dates come as `2026-03-01`; pydantic alone would take a number for one, too."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
        return value
    raise ValueError("Input should be an ISO date, like 2026-03-01")


def _digits(value: object) -> object:
    """Whole numbers come as digits; Python alone would read `1_0` as ten."""
    if isinstance(value, int) or (isinstance(value, str) and re.fullmatch(r"-?[0-9]+", value)):
        return value
    raise ValueError("Input should be a whole number, written in digits")


IsoDate = Annotated[dt.date, BeforeValidator(_iso)]
Cursor = Annotated[str, StringConstraints(pattern=r"^cu_[0-9a-hjkmnp-tv-z]{8}$")]
Identifier = Annotated[str, StringConstraints(max_length=64)]


class LeadQuery(BaseModel):
    """Which leads, and which page of them."""

    sequence_id: Identifier | None = None
    status: LeadStatus | None = None
    limit: Annotated[int, Field(ge=1, le=100), BeforeValidator(_digits)] = 25
    cursor: Cursor | None = None


_RANGE = """ISO date, a whole UTC day, included. One end alone: `to` is then today, `from` 29 days before `to`. A range that
ends before it starts has no days, and counts nothing."""


class StatsQuery(BaseModel):
    """Counts by what, over which days."""

    group_by: Grouping = "sequence"
    start: Annotated[IsoDate | None, Field(alias="from", description=_RANGE)] = None
    end: Annotated[IsoDate | None, Field(alias="to", description=_RANGE)] = None


class NewLead(BaseModel):
    """A lead to add; any further fields are kept as custom fields."""

    model_config = ConfigDict(extra="allow", strict=True)

    email: Email
    first_name: Text | None = None
    last_name: Text | None = None
    company: Text | None = None


class NewLeads(BaseModel):
    """Up to 1,000 leads for one sequence."""

    model_config = ConfigDict(strict=True)

    sequence_id: Identifier
    leads: Annotated[list[NewLead], Field(max_length=1_000)]


class SequenceChange(BaseModel):
    """`active` resumes a sequence, `paused` pauses it."""

    status: SequenceStatus


class NewSubscription(BaseModel):
    """Where deliveries go, and which."""

    model_config = ConfigDict(strict=True)

    url: Annotated[
        str,
        StringConstraints(min_length=1, max_length=2_048),
        Field(
            description="https to a public host, or http to a loopback host. Anything else gets 400.",
            json_schema_extra={"pattern": ALLOWED_URL},
        ),
    ]
    events: Annotated[list[EventKind], Field(min_length=1, max_length=100)]


class Lead(BaseModel):
    """One address in one sequence."""

    id: str
    email: str
    status: LeadStatus
    first_name: str | None
    last_name: str | None
    company: str | None
    sequence_id: str
    step: int
    custom_fields: dict[str, Any]
    created_at: dt.datetime


class LeadPage(BaseModel):
    """A page, newest first; a null cursor says that it is the last."""

    data: list[Lead]
    next_cursor: str | None


class SkippedLead(BaseModel):
    """A lead that was not added, and why."""

    email: str
    reason: SkipReason


class Added(BaseModel):
    """The result of adding leads."""

    added: int
    skipped: list[SkippedLead]


class Removed(BaseModel):
    """A lead that is in no sequence any more."""

    id: str
    removed: Literal[True]


class Sequence(BaseModel):
    """A sequence with its status and step count."""

    id: str
    name: str
    status: SequenceStatus
    steps: int


class Sequences(BaseModel):
    """All sequences of the workspace."""

    data: list[Sequence]


class Inbox(BaseModel):
    """A connected inbox."""

    id: str
    email: str
    health_score: Annotated[float, Field(ge=0, le=100)]
    daily_limit: int
    status: InboxStatus


class Inboxes(BaseModel):
    """All inboxes of the workspace."""

    data: list[Inbox]


class StatsRow(BaseModel):
    """Counts of one group; `id` names the sequence, inbox, step or variant."""

    group: str
    id: str
    sends: int
    replies: int
    positive_replies: int
    meetings: int


class Stats(BaseModel):
    """Counts by group."""

    data: list[StatsRow]


class Subscribed(BaseModel):
    """A subscription; its secret is shown this once."""

    id: str
    secret: str


class EventLead(BaseModel):
    """The lead that an event is about."""

    email: str
    first_name: str
    company: str


class LeadEvent(BaseModel):
    """What the events about a lead have in common."""

    lead: EventLead
    sequence: Annotated[str, Field(description="The sequence's name.")]
    step: int
    inbox: Annotated[str, Field(description="The sending inbox's address.")]


class LeadReplied(LeadEvent):
    """A lead sent any reply."""

    event: Literal["lead.replied"]
    reply: str


class ReplyInterested(LeadEvent):
    """A reply was tagged Interested."""

    event: Literal["reply.interested"]
    reply: str


class ReplyOutOfOffice(LeadEvent):
    """An out-of-office reply arrived."""

    event: Literal["reply.ooo"]
    reply: str
    return_date: dt.date


class LeadBounced(LeadEvent):
    """A hard or soft bounce occurred."""

    event: Literal["lead.bounced"]
    bounce_type: BounceType
    reason: str


class LeadUnsubscribed(LeadEvent):
    """A lead opted out; by a complaint, it has written no reply."""

    event: Literal["lead.unsubscribed"]
    reply: str | None = None


class SequenceCompleted(LeadEvent):
    """A lead finished all steps of a sequence."""

    event: Literal["sequence.completed"]


class DomainPaused(BaseModel):
    """Auto-pause was triggered on a domain."""

    event: Literal["domain.paused"]
    domain: str
    reason: PauseReason
    rate: Annotated[float, Field(description="The share of sends that caused the pause.")]
    inboxes: Annotated[list[str], Field(description="The addresses of the resting inboxes.")]


EVENTS: dict[str, type[BaseModel]] = {
    "lead.replied": LeadReplied,
    "reply.interested": ReplyInterested,
    "reply.ooo": ReplyOutOfOffice,
    "lead.bounced": LeadBounced,
    "lead.unsubscribed": LeadUnsubscribed,
    "sequence.completed": SequenceCompleted,
    "domain.paused": DomainPaused,
}


class ErrorBody(BaseModel):
    """What went wrong."""

    code: ErrorCode
    message: str
    field: str | None = None


class Error(BaseModel):
    """Every error has this body."""

    error: ErrorBody
