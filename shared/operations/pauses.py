"""Pauses and resumes one sequence: the request, its timer, and the lock that keeps other changes out meanwhile.

Where the bot's database isn't available, nothing keeps two changes apart: the last request counts.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Self

from shared.api.errors import OutreachError, Unavailable, Uncertain, Unreadable
from shared.api.models import Sequence
from shared.api.pace import Priority
from shared.api.pipeline import failed_attempts
from shared.operations.context import CommandContext
from shared.operations.outcome import need_records
from shared.records.records import RecordsUnavailable
from shared.records.sequence_changes import (
    LOCK_SECONDS,
    ChangeResult,
    SequenceChange,
    SequenceChanges,
    Status,
    Timer,
)

RESUME_TIMER = "resume"
"""The kind of timer that resumes a sequence; its key is the sequence's id."""
FORGOTTEN = "It no longer resumes automatically."
MAY_RESUME = "It may still resume automatically: the bot's database can't be read."
PATIENCE = 60.0
"""Seconds to wait for another change of the same sequence: longer than a request is repeated."""
LOOK_EVERY = 0.1


class Busy(Unavailable):
    """Another change of this sequence is still under way. Nothing was changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """What became of a sequence."""

    already: bool = False
    """It had the status before."""
    kept: bool = False
    """It is paused for at least as long by another pause, which was left as it is."""
    moved: bool = False
    """Somebody changed it after what this Undo reverts, and it was left as it is."""
    note: str = ""


class Held:
    """A change whose lock is renewed until it ends; a failure inside ends it as what it was."""

    def __init__(self, change: SequenceChange, changes: SequenceChanges) -> None:
        self.change, self._changes = change, changes
        self.has_own_timer = False
        """Whether a timer was set for this change before its request; where that is refused, the earlier one returns."""
        self._sent = self._late = self._ended = False
        self._renewing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._renewing = asyncio.create_task(self._renew())
        return self

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(LOCK_SECONDS / 3)
            with contextlib.suppress(RecordsUnavailable):  # the next one may be in time
                await self._changes.renew(self.change)

    async def send(self, request: Callable[[str], Awaitable[object]]) -> None:
        """Ask the service. Raises `OutreachError`."""
        self._sent = True
        with failed_attempts() as failures:
            try:
                await request(self.change.sequence)
            finally:
                self._late = any(isinstance(one, Uncertain) for one in failures)

    async def end(
        self, *, timer: Timer | None = None, keep_timer: bool = False, changed: bool = True
    ) -> None:
        """Unlock, with the timer that counts from now on.

        Raises `Uncertain` or `Busy` if the lock expired and another change has begun, and `RecordsUnavailable`.
        """
        self._ended = True
        result = ChangeResult(
            outcome="confirmed" if changed else "unchanged",
            late=self._late,
            timer=timer,
            keep_timer=keep_timer,
        )
        if await self._changes.end(self.change, result):
            return
        if self._sent:
            raise Uncertain(
                "Another change of this sequence came in between.", hint="`sequences` shows its status."
            )
        raise Busy(hint="Try again in a minute.")

    async def __aexit__(
        self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None
    ) -> None:
        if self._renewing:
            self._renewing.cancel()
        if error is None or self._ended:
            return
        result = ChangeResult(outcome="uncertain", keep_timer=True)
        if not self._sent or (
            isinstance(error, OutreachError)
            and not isinstance(error, (Uncertain, Unreadable))
            and not self._late
        ):
            # Nothing changed: an earlier timer still holds, and one that was set for this change is dropped.
            result = ChangeResult(
                outcome="unchanged", timer=self.change.timer, keep_timer=not self.has_own_timer
            )
        with contextlib.suppress(RecordsUnavailable):  # the lock expires
            await self._changes.end(self.change, result)


async def read_revisions(context: CommandContext) -> Mapping[str, int] | None:
    """To be read before the sequences are listed: later it shows which statuses may be outdated."""
    if context.records is None:
        return None
    try:
        return await context.records.changes.revisions(context.workspace.name)
    except RecordsUnavailable:
        return None


async def hold(name: str, status: Status, *, context: CommandContext) -> Held:
    """Lock a sequence as soon as it is free. Raises `Busy`, `RecordsUnavailable`."""
    changes = need_records(context).changes
    for _ in range(round(PATIENCE / LOOK_EVERY)):
        change = await changes.begin(context.workspace.name, name, status=status)
        if change:
            return Held(change, changes)
        await asyncio.sleep(LOOK_EVERY)
    raise Busy(hint="Try again in a minute.")


async def pause_one(
    sequence: Sequence,
    *,
    due_at: datetime | None,
    reason: str,
    context: CommandContext,
    revisions: Mapping[str, int] | None,
    never_shorten: bool = False,
) -> Changed:
    """Pause it, until `due_at` where that is given.

    `revisions` were read before the sequence was listed: it is trusted to be paused only if nobody has changed it since.
    `never_shorten`: leave a pause as it is that lasts at least as long. Raises `OutreachError`, `RecordsUnavailable`.
    """
    if context.records is None:
        return await _pause_unlocked(sequence, context=context)
    try:
        held = await hold(sequence.id, "paused", context=context)
    except RecordsUnavailable:
        if due_at or (never_shorten and sequence.status == "paused"):
            raise  # its timer stands: of several, one can't be said to stay paused
        done = await _pause_unlocked(sequence, context=context)
        return Changed(already=done.already, note=MAY_RESUME)
    timer = _timer(sequence, due_at, reason, context=context) if due_at else None
    async with held:
        if await _moved(held, context):
            return Changed(moved=True)
        fresh = held.change.undisturbed(revisions)
        already = fresh and sequence.status == "paused"
        if never_shorten:
            already = already if fresh else await _is_paused_now(sequence, context=context)
            if already and not ends_earlier(held.change.timer, due_at):
                await held.end(keep_timer=True, changed=False)
                return Changed(already=True, kept=True)
        return await _pause_held(held, timer, already=already, send=not (already and fresh), context=context)


def ends_earlier(timer: Timer | None, due_at: datetime | None) -> bool:
    """Whether a timer ends a pause before `due_at`; None is never."""
    return timer is not None and (due_at is None or timer.due_at < due_at)


async def _pause_held(
    held: Held, timer: Timer | None, *, already: bool, send: bool, context: CommandContext
) -> Changed:
    before = held.change.timer
    if timer and (before is None or before.due_at <= context.now()):
        # Before the request, so that a crash leaves nothing paused forever. An earlier timer that is due may already be
        # carried out, and deleted with its announcement at any moment.
        held.has_own_timer = True
        await need_records(context).set_timer(context.workspace.name, timer)
    if send:
        await held.send(context.client.pause_sequence)
    note = FORGOTTEN if before and not timer else ""
    try:
        await held.end(timer=timer, changed=send or timer != before)
    except RecordsUnavailable:
        if timer:
            raise
        note = MAY_RESUME
    return Changed(already=already, note=note)


async def resume_one(
    sequence: Sequence, *, context: CommandContext, revisions: Mapping[str, int] | None
) -> Changed:
    """Resume it, and cancel its timer. Raises `OutreachError`."""
    if context.records is None:
        return await _resume_unlocked(sequence, context=context)
    try:
        held = await hold(sequence.id, "active", context=context)
    except RecordsUnavailable:
        done = await _resume_unlocked(sequence, context=context)
        return Changed(already=done.already, note=MAY_RESUME)
    async with held:
        if await _moved(held, context):
            return Changed(moved=True)
        before = held.change.timer
        already = held.change.undisturbed(revisions) and sequence.status == "active"
        if not already:
            await held.send(context.client.resume_sequence)
        note = FORGOTTEN if before else ""
        try:
            await held.end(changed=not already or before is not None)
        except RecordsUnavailable:
            note = MAY_RESUME
    return Changed(already=already, note=note)


async def _moved(held: Held, context: CommandContext) -> bool:
    """Whether an Undo comes too late; it is known for certain only under the lock."""
    expected = context.undoes.get(held.change.sequence)
    if expected is None or expected == held.change.revision:
        return False
    await held.end(keep_timer=True, changed=False)
    return True


def _timer(sequence: Sequence, due_at: datetime, reason: str, *, context: CommandContext) -> Timer:
    payload = {
        "name": sequence.label,
        "reason": reason,
        "by": context.actor.name,
        "face": context.actor.face,
        "channel": context.actor.channel,
    }
    return Timer(kind=RESUME_TIMER, key=sequence.id, due_at=due_at, payload=payload)


async def _is_paused_now(sequence: Sequence, *, context: CommandContext) -> bool:
    known = await context.client.list_sequences(priority=Priority.INTERACTIVE)
    return any(one.id == sequence.id and one.status == "paused" for one in known)


async def _pause_unlocked(sequence: Sequence, *, context: CommandContext) -> Changed:
    if sequence.status != "paused":
        await context.client.pause_sequence(sequence.id)
    return Changed(already=sequence.status == "paused")


async def _resume_unlocked(sequence: Sequence, *, context: CommandContext) -> Changed:
    if sequence.status != "active":
        await context.client.resume_sequence(sequence.id)
    return Changed(already=sequence.status == "active")
