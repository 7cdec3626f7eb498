"""The safeguards, each to be taken away: a simulation that doesn't notice proves nothing."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa

from bot.jobs.due import DueJobs
from bot.slack.messages import MessageSender
from shared.api.pace import LocalBudget
from shared.store import deliveries, jobs, messages, sequences
from shared.store.alerts import Candidates, Turn
from shared.store.db.engine import Transaction
from shared.store.db.schema import NOW
from shared.store.db.schema import jobs as job_rows
from shared.store.deliveries import Arrival
from shared.store.messages import Look
from tests.faults.simulation.loop import PROCESS

LATE_SECONDS = 2.0


def _without_read_back() -> None:
    """A message whose fate is unknown is sent again, without a look whether it is there."""

    async def look(*_: Any, **__: Any) -> Look:
        return Look(complete=True)

    MessageSender.look = look  # type: ignore[method-assign]


def _without_lease() -> None:
    """A channel is free for every process at any time."""
    row = job_rows.c
    free = sa.or_(row.due_at <= NOW, (row.kind == "post") & (row.token != 0))
    parts = (row.kind == sa.bindparam("of_kind"), row.rank == sa.bindparam("of_rank"), free, jobs._KNOWN)
    due = sa.select(row.id).where(*parts).order_by(row.due_at, row.id).limit(sa.bindparam("limit"))
    vars(jobs)["_DUE"] = due
    jobs._claim.cache_clear()


def _without_unique_key() -> None:
    """Each arrival counts as another delivery."""
    Arrival.dkey = property(lambda _self: secrets.token_bytes(32))  # type: ignore[assignment]


def _without_timer_token() -> None:
    """A timer is carried out although it was set anew, or is carried out by another process."""
    vars(jobs)["held"] = lambda _tx, job: job
    vars(jobs)["done"] = lambda tx, job: tx.drop(job_rows, id=job.id)
    set_status = DueJobs._set

    async def set_late(self: DueJobs, *args: Any, **which: Any) -> bool:
        # A timer is begun as soon as it is claimed: hardly a seed has another change just between the two.
        await asyncio.sleep(LATE_SECONDS if "firing" in which else 0.0)
        return await set_status(self, *args, **which)

    DueJobs._set = set_late  # type: ignore[method-assign]


def _without_sequence_lock() -> None:
    """Several change one sequence at the same time."""
    vars(sequences)["LOCK_SECONDS"] = 0.0


def _without_budget() -> None:
    """A request goes when it likes."""

    async def reserve(*_: Any, **__: Any) -> None:
        pass

    LocalBudget.reserve = reserve  # type: ignore[method-assign]


def _without_renewal() -> None:
    """What Slack refuses to change stays as it is."""
    messages._renew = lambda *_: False


def _without_turns() -> None:
    """Each process counts the turns of a rota by itself, and begins again when it starts."""
    turns: dict[Any, int] = {}

    def take(_tx: Transaction, candidates: Candidates) -> Turn:
        people, process = candidates.people, PROCESS.get()
        turns[process] = turns.get(process, -1) + 1
        return Turn(owner=people[turns[process] % len(people)])

    vars(deliveries)["take"] = take


ABLATIONS: Mapping[str, Callable[[], None]] = {
    "read-back": _without_read_back,
    "lease": _without_lease,
    "unique-key": _without_unique_key,
    "timer-token": _without_timer_token,
    "sequence-lock": _without_sequence_lock,
    "budget": _without_budget,
    "turns": _without_turns,
    "renewal": _without_renewal,
}
