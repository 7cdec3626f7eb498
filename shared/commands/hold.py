"""Pauses or resumes sequences: the request, its timer, and the lock that keeps other changes out meanwhile.

Where the bot's database isn't available, nothing keeps two changes apart, and nothing can be undone.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from shared.api.errors import NotFound, OutreachError, Unavailable, Uncertain, Unreadable
from shared.api.pace import Priority
from shared.api.pipeline import failed_attempts
from shared.api.words import SequenceStatus
from shared.commands.base import CommandContext, Data
from shared.commands.pause import WAS, Outcome, SetStatus, Target, ends_earlier
from shared.records import (
    LOCK_SECONDS,
    Before,
    RecordsUnavailable,
    SequenceChange,
    Timer,
)

if TYPE_CHECKING:
    from shared.store.sequences import SequenceChanges

FORGOTTEN = "It no longer resumes automatically."
MAY_RESUME = "It may still resume automatically: the bot's database can't be read."
TRY_AGAIN, SHOWS_IT = "Try again in a minute.", "`sequences` shows its status."
PATIENCE_SECONDS = 60.0
"""Seconds to wait for another change of the same sequence: longer than a request is repeated."""
LOOK_EVERY_SECONDS = 0.1
CHANGED_AT_ONCE = 5


class Busy(Unavailable):
    """Another change of this sequence is still under way."""


class Changed(Data):
    """The outcome of a change of one sequence."""

    outcome: Outcome
    """`changed`: its pause got another end or lost it, too. `already`: another pause lasts at least as long, too. `moved`:
    someone changed it after what an Undo takes back. `uncertain`: a request was sent whose outcome is unknown."""
    before: Before | None = None
    """The state that an Undo takes it back to, where it was changed."""
    note: str = ""
    """Anything else to say of it, or why the service refused it."""


Changes = tuple[tuple[Target, Changed], ...]
"""Each sequence that was to be changed, with what came of it."""


@dataclass(slots=True)
class Held:
    """A change under its lock."""

    change: SequenceChange
    timer: Timer | None = None
    """The timer that counts from its end on."""
    keep_timer: bool = True
    """Leave the timer as it was."""
    has_own_timer: bool = False
    """A timer was set for this change before its request; where that is refused, the earlier one returns."""
    is_sent: bool = False
    """Set before the service is asked."""


@contextlib.asynccontextmanager
async def hold(change: SequenceChange, changes: SequenceChanges) -> AsyncIterator[Held]:
    """Renew the lock of a change until it ends; a failure inside ends it as what it was.

    Raises `Uncertain` or `Busy` if the lock expired and another change has begun, and `RecordsUnavailable`.
    """
    held, renewing = Held(change), asyncio.create_task(_renew(change, changes))
    try:
        with failed_attempts() as made:
            yield held
    except BaseException as error:
        is_clear = isinstance(error, OutreachError) and not isinstance(error, (Uncertain, Unreadable))
        is_unchanged = not held.is_sent or (is_clear and not made.is_uncertain)
        # Where nothing changed, an earlier timer still holds, and one that was set for this change is dropped.
        keep = not (is_unchanged and held.has_own_timer)
        is_made = False if is_unchanged else None
        with contextlib.suppress(RecordsUnavailable):  # the lock expires
            await changes.end(change, is_made=is_made, late=False, keep_timer=keep, timer=change.timer)
        raise
    else:
        timer, keep, late = held.timer, held.keep_timer, made.is_uncertain
        is_made = held.is_sent or bool(not keep and (timer or change.timer))
        if not await changes.end(change, is_made=is_made, late=late, keep_timer=keep, timer=timer):
            if held.is_sent:
                raise Uncertain("Another change of this sequence came in between.", hint=SHOWS_IT)
            raise Busy(hint=TRY_AGAIN)
    finally:
        renewing.cancel()


async def _renew(change: SequenceChange, changes: SequenceChanges) -> None:
    while True:
        await asyncio.sleep(LOCK_SECONDS / 3)
        with contextlib.suppress(RecordsUnavailable):  # the next one may be in time
            await changes.renew(change)


async def change_status(target: Target, act: SetStatus, context: CommandContext) -> Changed:
    """Pause a sequence, until the act's end where it has one, or resume it.

    Raises `OutreachError`, and `RecordsUnavailable` where a timer can't be kept.
    """
    changes, status = context.records.changes, act.status
    try:
        for _ in range(round(PATIENCE_SECONDS / LOOK_EVERY_SECONDS)):
            if change := await changes.begin(context.workspace.name, target.id, status=status):
                break
            await asyncio.sleep(LOOK_EVERY_SECONDS)
        else:
            raise Busy(hint=TRY_AGAIN)
    except RecordsUnavailable:
        if status == "paused" and (act.until or (act.keep_longer and target.status == "paused")):
            raise  # its timer stands: of several, one can't be said to stay paused
        note = MAY_RESUME if status == "paused" else ""
        if target.status == status:
            return Changed(outcome="already", note=note)
        await send_status(target.id, status, context)
        return Changed(outcome="changed", note=note)
    done = Changed(outcome="moved")
    try:
        async with hold(change, changes) as held:
            if target.unchanged_since in {None, change.revision}:
                done = await _change(held, target, act, context)
    except RecordsUnavailable:
        if act.until:
            raise
        return replace(done, note=MAY_RESUME if status == "paused" else "")
    return done


async def _change(held: Held, target: Target, act: SetStatus, context: CommandContext) -> Changed:
    change, before, status, timer = held.change, held.change.timer, act.status, None
    if act.until:
        who = {"by": context.actor.name, "face": context.actor.face, "channel": context.actor.channel}
        payload = {"name": target.label, "reason": act.reason, **who}
        timer = Timer(key=target.id, due_at=act.until, payload=payload)
    # The status under the lock, without asking the service again: as it was listed, if nobody has changed it since.
    present = target.status if change.revision == target.revision else change.confirmed
    is_so = change.is_certain and present == status
    is_kept = act.keep_longer and not ends_earlier(before, act.until)
    if is_so and status == "paused" and (is_kept or not (before or timer)):
        return Changed(outcome="already")
    held.timer, held.keep_timer = timer, False
    if timer and (before is None or before.due_at <= context.now()):
        # Before the request, so that a crash leaves nothing paused forever. An earlier timer that is due may already be
        # carried out, and deleted with its announcement at any moment.
        held.has_own_timer = True
        await context.records.set_timer(context.workspace.name, timer)
    if not is_so:
        held.is_sent = True
        await send_status(target.id, status, context)
    note = FORGOTTEN if is_so and before and not timer else ""
    if is_so and status == "active":
        return Changed(outcome="changed" if before else "already", note=note)
    past = before if is_so or status == "active" else None
    undo = Before(
        label=target.label,
        status=status if is_so else WAS[status],
        revision=change.revision + 1,
        ends_at=past.due_at.timestamp() if past else None,
        reason=past.payload.get("reason", "") if past else "",
        new_end=act.until.timestamp() if act.until else None,
    )
    return Changed(outcome="changed", before=undo, note=note)


async def send_status(name: str, status: SequenceStatus, context: CommandContext) -> None:
    """Set the status at the service; an answer that contradicts it doesn't confirm it, and is read again.

    Raises `Unavailable` if the list agrees with that answer, and `Uncertain` if it doesn't.
    """
    client, endpoint = context.client, "PATCH /sequences/{id}"
    answered = await client.set_status(name, status)
    if answered.status in {None, status}:
        return
    listed = await client.list_sequences(priority=Priority.INTERACTIVE)
    now = next((sequence.status for sequence in listed if sequence.id == name), None)
    if now == answered.status:
        why = f"The service accepted the change, but the sequence is still {now}."
        raise Unavailable(why, endpoint=endpoint, hint="Try again.")
    raise Uncertain("The service's answer contradicts the change.", endpoint=endpoint, hint=SHOWS_IT)


async def change_each(wanted: Iterable[tuple[Target, SetStatus]], context: CommandContext) -> Changes:
    """Change each, a few at once; one of several that fails doesn't stop the others, and the only one raises."""
    turns, wanted = asyncio.Semaphore(CHANGED_AT_ONCE), tuple(wanted)

    async def attempt(target: Target, act: SetStatus) -> tuple[Target, Changed]:
        async with turns:
            try:
                return target, await change_status(target, act, context)
            except (OutreachError, RecordsUnavailable) as error:
                if len(wanted) == 1:
                    raise
                outcome: Outcome = "uncertain" if isinstance(error, Uncertain) else "failed"
                why = error.message if isinstance(error, OutreachError) else str(error)
                outcome = "gone" if isinstance(error, NotFound) else outcome
                return target, Changed(outcome=outcome, note=why)

    return tuple(await asyncio.gather(*(attempt(*one) for one in wanted)))
