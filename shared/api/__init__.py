"""All that is known of the outreach service's REST API; usable alone, as a library (docs/client.md).

Names are imported when they are first used: the pure modules of this package cost nothing to those who do not
send (`outreach --help`, targets row 10).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .client import OutreachClient
    from .errors import (
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
    from .events import Event, EventLead, Unknown, read_event, sign, signature_matches
    from .http.pipeline import RequestCounts
    from .http.rate_limit import BudgetState, Pacer, Priority
    from .http.rate_wait import LocalBudget
    from .models import AddResult, Inbox, Lead, Page, Sequence, Skipped, StatsRow, Subscription

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

_HOMES = {
    "OutreachClient": ".client",
    "RequestCounts": ".http.pipeline",
    "InvalidRequest": ".errors",
    "NotFound": ".errors",
    "OutreachError": ".errors",
    "RateLimited": ".errors",
    "Refused": ".errors",
    "ServiceBroken": ".errors",
    "Unauthorized": ".errors",
    "Unavailable": ".errors",
    "Uncertain": ".errors",
    "Unreachable": ".errors",
    "Unreadable": ".errors",
    "Event": ".events",
    "EventLead": ".events",
    "Unknown": ".events",
    "read_event": ".events",
    "sign": ".events",
    "signature_matches": ".events",
    "AddResult": ".models",
    "Inbox": ".models",
    "Lead": ".models",
    "Page": ".models",
    "Sequence": ".models",
    "Skipped": ".models",
    "StatsRow": ".models",
    "Subscription": ".models",
    "BudgetState": ".http.rate_limit",
    "Pacer": ".http.rate_limit",
    "Priority": ".http.rate_limit",
    "LocalBudget": ".http.rate_wait",
}


def __getattr__(name: str) -> Any:
    """Import a public name from its module (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name], __name__), name)
