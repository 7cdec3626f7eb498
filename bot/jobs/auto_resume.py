"""Resumes sequences whose timed pause has ended, and notifies their channel in one message."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from bot.alerts import notes
from bot.commands.context import CommandContexts
from bot.jobs.scheduler import BOT
from shared.api.errors import NotFound, OutreachError
from shared.api.models import Sequence as Campaign
from shared.commands.base import clip
from shared.commands.hold import Busy, Held, send_status
from shared.commands.run import CommandContext
from shared.commands.sequences import actor_of
from shared.domain.card import Card, Tone
from shared.records.audit import AuditEntry
from shared.records.records import RecordsUnavailable
from shared.store import Store
from shared.store.jobs import Again, End, Job
from shared.store.messages import PlannedPost
from shared.store.sequences import TimerReplaced, timer_of
from shared.text.formats import show_number

RESUMED_AT_ONCE = 5
RETRY_SECONDS = 30.0
SHOWN = 15

log = structlog.get_logger("resumption")


@dataclass(slots=True)
class Tally:
    """The sequences whose pauses ended together, by result."""

    done: list[Job] = field(default_factory=list)
    resumed: list[Job] = field(default_factory=list)
    active: list[Job] = field(default_factory=list)
    """Those that were active before the pause ended: resumed elsewhere, or by a bot that then died."""
    gone: list[Job] = field(default_factory=list)

    def only(self, ended: Sequence[Job]) -> Tally:
        """The same, of these pauses."""

        def of(some: list[Job]) -> list[Job]:
            return [job for job in some if job in ended]

        return Tally(done=of(self.done), resumed=of(self.resumed), active=of(self.active), gone=of(self.gone))


def told_together(job: Job) -> Hashable:
    """The pauses whose ends one message tells of."""
    return job.workspace, job.payload.get("channel", "")


class AutoResume:
    """Handles jobs of the kind `resume`; doing it twice does no harm, and is announced once."""

    def __init__(self, store: Store, contexts: CommandContexts, *, planned: Callable[[], None]) -> None:
        self._store, self._contexts, self._planned = store, contexts, planned

    async def __call__(self, ended: Sequence[Job], _deadline: float) -> Mapping[Job, End]:
        """Resume and announce what one message tells of; what could not be resumed is tried again."""
        workspace = self._contexts.settings.workspace(ended[0].workspace)
        context = self._contexts.at(workspace, BOT)
        tally = await self._resume(ended, context)
        if tally.done:
            channel = ended[0].payload.get("channel") or workspace.alert_channel or ""
            await self._announce(tally, context, channel)
        return {job: Again(after=RETRY_SECONDS) for job in ended if job not in tally.done}

    async def _resume(self, timers: Sequence[Job], context: CommandContext) -> Tally:
        tally, turns = Tally(), asyncio.Semaphore(RESUMED_AT_ONCE)
        # Before the list: what is changed after this isn't trusted to be as the list says.
        revisions = await self._store.changes.revisions(context.workspace.name)
        try:
            known = {resume.id: resume for resume in await context.client.list_sequences()}
        except OutreachError as error:
            log.warning("no sequence resumed", count=len(timers), error=type(error).__name__)
            return tally

        async def resume(timer: Job) -> None:
            async with turns:
                try:
                    was_active = await self._resume_one(timer, known.get(timer.key), context, revisions)
                except NotFound:  # a list without it may be wrong: only this is an answer about it
                    tally.gone.append(timer)
                except TimerReplaced:
                    # A person or a guardrail has decided otherwise, or another process resumes it.
                    return
                except (OutreachError, RecordsUnavailable) as error:
                    log.warning("sequence not resumed", sequence=timer.key, error=type(error).__name__)
                    return
                except Exception:  # one that fails must not stop the others
                    log.exception("sequence not resumed", sequence=timer.key)
                    return
                else:
                    (tally.active if was_active else tally.resumed).append(timer)
                tally.done.append(timer)

        await asyncio.gather(*(resume(timer) for timer in timers))
        return tally

    async def _resume_one(
        self, timer: Job, listed: Campaign | None, context: CommandContext, revisions: Mapping[str, int]
    ) -> bool:
        """Resume a sequence whose timer is still ours; returns whether somebody else had resumed it."""
        changes = self._store.changes
        change = await changes.begin(context.workspace.name, timer.key, status="active", firing=timer)
        if change is None:
            raise Busy
        async with Held(change, changes) as held:
            was_active = change.undisturbed(revisions) and listed is not None and listed.status == "active"
            if not was_active:
                await held.send(lambda name: send_status(name, "active", context=context))
            await held.end(keep_timer=True, changed=not was_active)  # it is deleted with its announcement
        # A pause with a timer is confirmed as paused. If active was confirmed after it and the timer is still there, an
        # earlier try resumed the sequence, and the database failed or the process died before the announcement.
        return was_active and change.confirmed != "active"

    async def _announce(self, tally: Tally, context: CommandContext, channel: str) -> None:
        """Delete the timers and tell of them, together: of one that was replaced meanwhile, nothing is said."""

        def tell(ours: Sequence[Job]) -> tuple[AuditEntry, PlannedPost | None]:
            told = tally.only(ours)
            card = ended_card(told)
            entry = AuditEntry(
                at=context.now(),
                actor=BOT,
                workspace=context.workspace.name,
                command="resume: the pause has run out",
                result=f"{card.title} ({', '.join(timer.key for timer in ours)})",
                effect="resumed",
                sequences=tuple(timer.key for timer in (*told.resumed, *told.active)),
            )
            if not channel:
                return entry, None
            first = min(ours, key=lambda timer: timer.id)
            dedupe = f"note:resume:{first.id}:{timer_of(first).due_at.timestamp()}"
            return entry, PlannedPost(
                dedupe=dedupe, channel=channel, kind="note", note=notes.write_note(card), condensed=True
            )

        if await self._store.timers.finish(tally.done, tell) and channel:
            self._planned()


def ended_card(tally: Tally) -> Card:
    """The end of pauses that no message of the bot tells of: of a shell, or of a sequence that is gone."""
    names, gone = _names([*tally.resumed, *tally.active]), _names(tally.gone)
    are = "is" if len(names) == 1 else "are"
    what = names[0] if len(names) == 1 else show_number(len(names), "sequence")
    title = (
        f"▶ {what} {are} sending again" if names else f"{show_number(len(gone), 'paused sequence')} deleted"
    )
    text = (
        _pause_note(tally.done[0]) if len(tally.done) == 1 else _listed(names),
        f"Deleted before the pause ended: {_listed(gone)}." if gone else "",
    )
    return Card(title=title, tone=Tone.INFO if names else Tone.WARN, text=tuple(filter(None, text)))


def _names(timers: Sequence[Job]) -> list[str]:
    return [clip(timer.payload.get("name") or timer.key, length=40) for timer in timers]


def _pause_note(timer: Job) -> str:
    by, reason = actor_of(timer_of(timer)), clip(timer.payload.get("reason", ""))
    return " · ".join(filter(None, (f"Paused by {by.shown}" if by.name else "", reason)))


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(sorted(names)[:SHOWN]) + more
