"""Pauses or resumes one sequence: the request, its timer, and the lock that keeps other changes out meanwhile.

Where the bot's database isn't available, nothing keeps two changes apart: the last request counts.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from shared.api.errors import OutreachError, Unavailable, Uncertain, Unreadable
from shared.api.models import Sequence
from shared.api.pace import Priority
from shared.api.pipeline import failed_attempts
from shared.commands.pause import Target
from shared.commands.run import CommandContext
from shared.records.audit import Before
from shared.records.records import RecordsUnavailable
from shared.records.sequence_changes import (
    LOCK_SECONDS,
    UNDER_WAY,
    ChangeResult,
    SequenceChange,
    Status,
    Timer,
)

if TYPE_CHECKING:
    from shared.store.sequences import SequenceChanges

RESUME_TIMER = "resume"
"""The kind of timer that resumes a sequence; its key is the sequence's id."""
FORGOTTEN = "It no longer resumes automatically."
MAY_RESUME = "It may still resume automatically: the bot's database can't be read."
PATIENCE = 60.0
"""Seconds to wait for another change of the same sequence: longer than a request is repeated."""
LOOK_EVERY = 0.1


class Busy(Unavailable):
    """Another change of this sequence is still under way. Nothing was changed."""


class NotCarriedOut(Unavailable):
    """The service accepted the change, but didn't make it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """What became of a sequence."""

    outcome: Literal["changed", "extended", "already", "kept", "moved"]
    """`extended`: its pause got another end. `kept`: another pause lasts at least as long. `moved`: somebody changed it
    after what an Undo takes back."""
    before: Before | None = None
    """What an Undo takes it back to, where it was changed."""
    note: str = ""


class Held:
    """A change whose lock is renewed until it ends; a failure inside ends it as what it was."""

    def __init__(self, change: SequenceChange, changes: SequenceChanges) -> None:
        self.change, self._changes = change, changes
        self.has_own_timer = False
        """A timer was set for this change before its request; where that is refused, the earlier one returns."""
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


async def read_timers(context: CommandContext) -> Mapping[str, Timer]:
    """The ends of the timed pauses by sequence; none where the records can't be read."""
    if context.records is None:
        return {}
    try:
        timers = await context.records.timers(context.workspace.name, RESUME_TIMER)
    except RecordsUnavailable:
        return {}
    return {timer.key: timer for timer in timers}


def target_of(sequence: Sequence, revisions: Mapping[str, int] | None) -> Target:
    """A sequence as it was listed after these revisions were read."""
    revision = None if revisions is None else revisions.get(sequence.id, 0)
    return Target(id=sequence.id, label=sequence.label, status=sequence.status or "", revision=revision)


async def hold(name: str, status: Status, *, context: CommandContext) -> Held:
    """Lock a sequence as soon as it is free. Raises `Busy`, `RecordsUnavailable`."""
    changes = context.need_records().changes
    for _ in range(round(PATIENCE / LOOK_EVERY)):
        change = await changes.begin(context.workspace.name, name, status=status)
        if change:
            return Held(change, changes)
        await asyncio.sleep(LOOK_EVERY)
    raise Busy(hint="Try again in a minute.")


async def change_status(
    target: Target,
    status: Status,
    *,
    context: CommandContext,
    until: datetime | None = None,
    reason: str = "",
    keep_longer: bool = False,
) -> Changed:
    """Pause a sequence, until a moment where one is given, or resume it.

    `keep_longer`: leave a pause as it is that lasts at least as long.
    Raises `OutreachError`, and `RecordsUnavailable` where a timer can't be kept.
    """
    if context.records is None:
        return await _set_unlocked(target, status, context=context)
    try:
        held = await hold(target.id, status, context=context)
    except RecordsUnavailable:
        if status == "paused" and (until or (keep_longer and target.status == "paused")):
            raise  # its timer stands: of several, one can't be said to stay paused
        return replace(await _set_unlocked(target, status, context=context), note=MAY_RESUME)
    async with held:
        expected = target.unchanged_since
        if expected is not None and held.change.number != expected:
            await held.end(keep_timer=True, changed=False)
            return Changed(outcome="moved")
        if status == "active":
            return await _resume(held, target, context=context)
        timer = _timer(target, until, reason, context=context) if until else None
        return await _pause(held, target, timer, keep_longer=keep_longer, context=context)


async def _pause(
    held: Held, target: Target, timer: Timer | None, *, keep_longer: bool, context: CommandContext
) -> Changed:
    before, due_at = held.change.timer, timer.due_at if timer else None
    is_paused = _status_now(held.change, target) == "paused"
    if is_paused and keep_longer and not ends_earlier(before, due_at):
        await held.end(keep_timer=True, changed=False)
        return Changed(outcome="kept")
    if is_paused and not before and not timer:
        await held.end(keep_timer=True, changed=False)
        return Changed(outcome="already")
    if timer and (before is None or before.due_at <= context.now()):
        # Before the request, so that a crash leaves nothing paused forever. An earlier timer that is due may already be
        # carried out, and deleted with its announcement at any moment.
        held.has_own_timer = True
        await context.need_records().set_timer(context.workspace.name, timer)
    if not is_paused:
        await held.send(lambda name: send_status(name, "paused", context=context))
    note = FORGOTTEN if before and not timer else ""
    try:
        await held.end(timer=timer)
    except RecordsUnavailable:
        if timer:
            raise
        note = MAY_RESUME
    was = _before(held.change, target, "paused" if is_paused else "active", new_end=due_at)
    return Changed(outcome="extended" if is_paused else "changed", before=was, note=note)


async def _resume(held: Held, target: Target, *, context: CommandContext) -> Changed:
    """Resume it, and cancel its timer."""
    before = held.change.timer
    is_active = _status_now(held.change, target) == "active"
    if not is_active:
        await held.send(lambda name: send_status(name, "active", context=context))
    note = FORGOTTEN if before else ""
    try:
        await held.end(changed=not is_active or before is not None)
    except RecordsUnavailable:
        note = MAY_RESUME
    if is_active:
        return Changed(outcome="already", note=note)
    return Changed(outcome="changed", before=_before(held.change, target, "paused"), note=note)


def _status_now(change: SequenceChange, target: Target) -> str:
    """The status under the lock, without asking the service again; empty where it isn't certain."""
    if change.revision == UNDER_WAY:
        return ""
    if target.revision is not None and change.revision == target.revision:
        return target.status
    return change.confirmed


def _before(
    change: SequenceChange, target: Target, status: Status, *, new_end: datetime | None = None
) -> Before:
    timer = change.timer if status == "paused" else None
    return Before(
        label=target.label,
        status=status,
        revision=change.number + 1,
        ends_at=timer.due_at.timestamp() if timer else None,
        reason=timer.payload.get("reason", "") if timer else "",
        new_end=new_end.timestamp() if new_end else None,
    )


async def send_status(name: str, status: Status, *, context: CommandContext) -> None:
    """Set the status at the service; an answer that contradicts it is no confirmation, and is read again.

    Raises `NotCarriedOut` if the list agrees with that answer, and `Uncertain` if it doesn't.
    """
    client = context.client
    answered = await (client.pause_sequence if status == "paused" else client.resume_sequence)(name)
    if answered.status in {None, status}:
        return
    listed = await client.list_sequences(priority=Priority.INTERACTIVE)
    now = next((one.status for one in listed if one.id == name), None)
    if now == answered.status:
        raise NotCarriedOut(
            f"The service accepted the change, but the sequence is still {now}.",
            endpoint="PATCH /sequences/{id}",
            hint="Try again.",
        )
    raise Uncertain(
        "The service's answer contradicts the change.",
        endpoint="PATCH /sequences/{id}",
        hint="`sequences` shows its status.",
    )


def ends_earlier(timer: Timer | None, due_at: datetime | None) -> bool:
    """True where a timer ends a pause before `due_at`; None is never."""
    return timer is not None and (due_at is None or timer.due_at < due_at)


def _timer(target: Target, due_at: datetime, reason: str, *, context: CommandContext) -> Timer:
    payload = {
        "name": target.label,
        "reason": reason,
        "by": context.actor.name,
        "face": context.actor.face,
        "channel": context.actor.channel,
    }
    return Timer(kind=RESUME_TIMER, key=target.id, due_at=due_at, payload=payload)


async def _set_unlocked(target: Target, status: Status, *, context: CommandContext) -> Changed:
    if target.status == status:
        return Changed(outcome="already")
    await send_status(target.id, status, context=context)
    was = Before(label=target.label, status="active" if status == "paused" else "paused")
    return Changed(outcome="changed", before=was)
