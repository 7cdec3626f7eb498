"""The words of the service's API. What `outreach --help` needs of it is here, and loads nothing."""

from __future__ import annotations

from typing import Literal, get_args

LeadStatus = Literal["active", "replied", "interested", "bounced", "unsubscribed", "completed"]
SequenceStatus = Literal["active", "paused"]
InboxStatus = Literal["active", "warming", "resting"]
EventKind = Literal[
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
EVENT_KINDS: tuple[EventKind, ...] = get_args(EventKind)
GROUPINGS: tuple[Grouping, ...] = get_args(Grouping)
COUNTS = ("sends", "replies", "positive_replies", "meetings")
