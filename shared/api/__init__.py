"""The client for the outreach service's REST API; scripts import it from `outreach_ops` (docs/client.md).

Names are imported on first use, so that programs that send nothing, like `outreach --help`, don't load the client.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .version import VERSION

if TYPE_CHECKING:
    from .client import OutreachClient
    from .errors import (
        InvalidRequest,
        NoResponse,
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
    from .models import AddResult, Inbox, Lead, Page, Sequence, Skipped, StatsRow, Subscription
    from .pace import BudgetState, LocalBudget, Priority
    from .pipeline import RequestCounts
    from .words import EventKind, Grouping, InboxStatus, LeadStatus, SequenceStatus

__version__ = VERSION

__all__ = [
    "AddResult",
    "BudgetState",
    "Event",
    "EventKind",
    "EventLead",
    "Grouping",
    "Inbox",
    "InboxStatus",
    "InvalidRequest",
    "Lead",
    "LeadStatus",
    "LocalBudget",
    "NoResponse",
    "NotFound",
    "OutreachClient",
    "OutreachError",
    "Page",
    "Priority",
    "RateLimited",
    "Refused",
    "RequestCounts",
    "Sequence",
    "SequenceStatus",
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
    "__version__",
    "read_event",
    "sign",
    "signature_matches",
]

MODULES = ("words", "errors", "models", "events", "pace", "pipeline", "client")
"""The modules of the public names; those that load little come first."""


def __getattr__(name: str) -> Any:
    """Import a public name from its module (PEP 562)."""
    for module in MODULES if name in __all__ else ():
        value = getattr(importlib.import_module(f".{module}", __name__), name, None)
        if value is not None:
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, also those that nothing has imported yet."""
    return sorted(__all__)
