"""The safeguards, each to be taken away: a simulation that doesn't notice proves nothing."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa

from bot.slack.messages import MessageSender
from bot.store.alerts.timers import Timers
from bot.store.db.engine import Transaction, writes
from bot.store.db.schema import timers
from bot.store.queue import leases
from bot.store.queue.insert import Arrival
from bot.store.queue.outcomes import Absent
from shared.api.http.rate_wait import Turns


def _without_read_back() -> None:
    """A message whose fate is unknown is sent again, without a look whether it is there."""

    async def find(*_: Any, **__: Any) -> Absent:
        return Absent()

    MessageSender.find = find  # type: ignore[method-assign]


def _without_lease() -> None:
    """A channel is free for every process at any time."""

    def is_free(now: float, *, seconds: float) -> sa.ColumnElement[bool]:
        return sa.true()

    leases._is_free = is_free


def _without_unique_key() -> None:
    """Each arrival counts as another delivery."""
    Arrival.dkey = property(lambda _self: secrets.token_bytes(32))  # type: ignore[assignment]


def _without_timer_token() -> None:
    """A timer is done although it was set anew, or leased by another process."""

    @writes
    def done(_self: Timers, tx: Transaction, firing: Any) -> bool:
        return tx.execute(sa.delete(timers).where(timers.c.id == firing.id)).rowcount > 0

    Timers.done = done  # type: ignore[method-assign]


def _without_budget() -> None:
    """A request goes when it likes."""

    async def reserve(*_: Any, **__: Any) -> None:
        pass

    Turns.reserve = reserve  # type: ignore[method-assign]


ABLATIONS: Mapping[str, Callable[[], None]] = {
    "read-back": _without_read_back,
    "lease": _without_lease,
    "unique-key": _without_unique_key,
    "budget": _without_budget,
}
