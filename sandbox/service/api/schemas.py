"""The shapes of `/v1`, declared once for checking requests and for the OpenAPI document."""

from __future__ import annotations

import datetime as dt
import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from typing_extensions import TypeAliasType

from sandbox.service import ids

# Aliases have a name in the OpenAPI document, so that a generated client has one enumeration of each.
LeadStatus = TypeAliasType(
    "LeadStatus", Literal["active", "replied", "interested", "bounced", "unsubscribed", "completed"]
)
SequenceStatus = TypeAliasType("SequenceStatus", Literal["active", "paused"])
InboxStatus = TypeAliasType("InboxStatus", Literal["active", "warming", "resting"])
Grouping = TypeAliasType("Grouping", Literal["sequence", "variant", "step", "inbox"])
SkipReason = TypeAliasType("SkipReason", Literal["duplicate", "blocklisted"])
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

# As patterns and not in code, so that generated clients and schemathesis know them, too.
_PORT = r"(:(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3}))?"
_LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_NAME = rf"({_LABEL}\.){{0,6}}[A-Za-z]([A-Za-z0-9-]{{0,61}}[A-Za-z0-9])?\.?"
URL = rf"^(https://{_NAME}|https?://(localhost|127\.0\.0\.1|\[::1\])){_PORT}(/[!-~]*)?$"
"""https to any host with a name, http to this machine alone; a number in place of a name may be any machine."""
_LETTERS = r"0-9A-Za-z\u00c0-\u167f\u3041-\ud7a3"
EMAIL = rf"^[{_LETTERS}!#$%&'*+/=?^_`{{|}}~.-]+@[{_LETTERS}-]+(\.[{_LETTERS}-]+)+$"
Email = Annotated[
    str,
    StringConstraints(pattern=EMAIL, min_length=6, max_length=254),
    Field(examples=["ada@engines.example"]),
]
Text = Annotated[str, StringConstraints(max_length=500, pattern=r"^[^\x00]*$")]


def _iso(value: object) -> object:
    """Dates come as `2026-03-01`; pydantic alone would take a number for one, too."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
        return value
    raise ValueError("Input should be an ISO date, like 2026-03-01")


def whole_number(value: object) -> object:
    """Whole numbers come as digits; Python alone would read `1_0` as ten."""
    if isinstance(value, int) or (isinstance(value, str) and re.fullmatch(r"-?[0-9]+", value)):
        return value
    raise ValueError("Input should be a whole number, written in digits")


IsoDate = Annotated[dt.date, BeforeValidator(_iso)]
LEAD, SEQUENCE, CURSOR = ids.encode("ld", 4_000), ids.encode("sq", 1), ids.encode("cu", 4_000)
Cursor = Annotated[str, StringConstraints(pattern=rf"^cu_{ids.PATTERN}$"), Field(examples=[CURSOR])]
SequenceId = Annotated[str, StringConstraints(max_length=64), Field(examples=[SEQUENCE])]
LeadPathId = Annotated[str, Field(min_length=1, max_length=200, examples=[LEAD])]
SequencePathId = Annotated[str, Field(min_length=1, max_length=200, examples=[SEQUENCE])]


_RANGE = """ISO date, a whole UTC day, included. One end alone: `to` is then today, `from` 29 days before `to`. A range that
ends before it starts has no days, and counts nothing."""
PageSize = Annotated[int, Field(ge=1, le=100, examples=[50]), BeforeValidator(whole_number)]
First = Annotated[IsoDate | None, Field(alias="from", description=_RANGE, examples=["2026-03-01"])]
Last = Annotated[IsoDate | None, Field(alias="to", description=_RANGE, examples=["2026-03-31"])]


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

    sequence_id: SequenceId
    leads: Annotated[list[NewLead], Field(max_length=1_000)]


class SequenceChange(BaseModel):
    """`active` resumes a sequence, `paused` pauses it."""

    status: SequenceStatus


class NewSubscription(BaseModel):
    """The address for deliveries, and their kinds."""

    model_config = ConfigDict(strict=True)

    url: Annotated[
        str,
        StringConstraints(min_length=1, max_length=2_048, pattern=URL),
        Field(
            description="https to a host with a name, or http to this machine. Anything else gets 400.",
            examples=["https://bot.example/webhooks/outreach"],
        ),
    ]
    events: Annotated[list[EventKind], Field(min_length=1, max_length=100)]


class Lead(BaseModel):
    """One address in one sequence."""

    id: str
    email: str
    status: LeadStatus
    first_name: Text | None
    last_name: Text | None
    company: Text | None
    sequence_id: SequenceId
    step: int
    custom_fields: dict[str, Any]
    created_at: dt.datetime


class LeadPage(BaseModel):
    """A page, newest first; a null cursor says that it is the last."""

    data: list[Lead]
    next_cursor: Cursor | None


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

    id: SequenceId
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
    id: SequenceId
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
