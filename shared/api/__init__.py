"""All that is known of the outreach service's REST API; usable alone, as a library (docs/client.md)."""

from __future__ import annotations

from shared.api.client import OutreachClient, RequestCounts
from shared.api.errors import (
    InvalidRequest,
    NotFound,
    OutreachError,
    RateLimited,
    Refused,
    ServiceBroken,
    Unauthorized,
    Unavailable,
    Uncertain,
    Unreachable,
    Unreadable,
)
from shared.api.events import Event, EventLead, Unknown, read_event, sign, signature_matches
from shared.api.models import AddResult, Inbox, Lead, Page, Sequence, Skipped, StatsRow, Subscription
from shared.api.pacing import BudgetState, Pacer, Priority
from shared.api.turns import LocalBudget

__all__ = [
    "AddResult",
    "BudgetState",
    "Event",
    "EventLead",
    "Inbox",
    "InvalidRequest",
    "Lead",
    "LocalBudget",
    "NotFound",
    "OutreachClient",
    "OutreachError",
    "Pacer",
    "Page",
    "Priority",
    "RateLimited",
    "Refused",
    "RequestCounts",
    "Sequence",
    "ServiceBroken",
    "Skipped",
    "StatsRow",
    "Subscription",
    "Unauthorized",
    "Unavailable",
    "Uncertain",
    "Unknown",
    "Unreachable",
    "Unreadable",
    "read_event",
    "sign",
    "signature_matches",
]
