"""One budget of requests for all processes that use a key."""

from __future__ import annotations

from shared.api.turns import LocalBudget

__all__ = ["LocalBudget"]
