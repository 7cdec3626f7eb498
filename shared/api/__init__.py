"""All that is known of the outreach service's REST API; usable alone, as a library (docs/client.md).

Names are imported when they are first used: the pure modules of this package cost nothing to those who do not
send (`outreach --help`, targets row 10).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shared.api.client import OutreachClient
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
    from shared.api.http.pipeline import RequestCounts
    from shared.api.http.rate_limit import BudgetState, Pacer, Priority
    from shared.api.http.rate_wait import LocalBudget
    from shared.api.models import AddResult, Inbox, Lead, Page, Sequence, Skipped, StatsRow, Subscription

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
    "OutreachClient": "shared.api.client",
    "RequestCounts": "shared.api.http.pipeline",
    "InvalidRequest": "shared.api.errors",
    "NotFound": "shared.api.errors",
    "OutreachError": "shared.api.errors",
    "RateLimited": "shared.api.errors",
    "Refused": "shared.api.errors",
    "ServiceBroken": "shared.api.errors",
    "Unauthorized": "shared.api.errors",
    "Unavailable": "shared.api.errors",
    "Uncertain": "shared.api.errors",
    "Unreachable": "shared.api.errors",
    "Unreadable": "shared.api.errors",
    "Event": "shared.api.events",
    "EventLead": "shared.api.events",
    "Unknown": "shared.api.events",
    "read_event": "shared.api.events",
    "sign": "shared.api.events",
    "signature_matches": "shared.api.events",
    "AddResult": "shared.api.models",
    "Inbox": "shared.api.models",
    "Lead": "shared.api.models",
    "Page": "shared.api.models",
    "Sequence": "shared.api.models",
    "Skipped": "shared.api.models",
    "StatsRow": "shared.api.models",
    "Subscription": "shared.api.models",
    "BudgetState": "shared.api.http.rate_limit",
    "Pacer": "shared.api.http.rate_limit",
    "Priority": "shared.api.http.rate_limit",
    "LocalBudget": "shared.api.http.rate_wait",
}


def __getattr__(name: str) -> Any:
    """Import a public name from its module (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
