"""The words of the service's API. What `outreach --help` needs of it is here, and loads nothing."""

from __future__ import annotations

from typing import Literal, cast, get_args

from .event_kinds import DELIVERED

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
