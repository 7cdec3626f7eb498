"""Resumes sequences whose timed pause has ended, and notifies their channel in one message."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping, Sequence

import structlog

from bot.alerts import notes
from bot.commands.context import CommandContexts
from bot.jobs.scheduler import BOT
from shared.api.errors import NotFound, OutreachError
from shared.api.models import Sequence as Campaign
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
from shared.text.formats import clip, show_number

RESUMED_AT_ONCE = 5
RETRY_SECONDS = 30.0
MOST_NAMES = 15

log = structlog.get_logger("resumption")


def told_together(job: Job) -> Hashable:
    """The pauses whose ends one message tells of."""
    return job.workspace, job.payload.get("channel", "")


class AutoResume:
    """Handles jobs of the kind `resume`; doing it twice does no harm, and is announced once."""

    def __init__(self, store: Store, contexts: CommandContexts, *, planned: Callable[[], None]) -> None:
        self._store, self._contexts, self._planned = store, contexts, planned

    async def __call__(self, timers: Sequence[Job], _deadline: float) -> Mapping[Job, End]:
        """Resume and announce what one message tells of; what could not be resumed is tried again."""
        workspace = self._contexts.settings.workspace(timers[0].workspace)
        context = self._contexts.at(workspace, BOT)
        is_gone = await self._resume(timers, context)
        if is_gone:
            channel = timers[0].payload.get("channel") or workspace.alert_channel or ""
            await self._announce(is_gone, context, channel)
        return {job: Again(after=RETRY_SECONDS) for job in timers if job not in is_gone}

    async def _resume(self, timers: Sequence[Job], context: CommandContext) -> Mapping[Job, bool]:
        """The timers whose pause is over, and for each if its sequence is gone."""
        is_gone: dict[Job, bool] = {}
        turns = asyncio.Semaphore(RESUMED_AT_ONCE)
        # Before the list: what is changed after this isn't trusted to be as the list says.
        revisions = await self._store.changes.revisions(context.workspace.name)
        try:
            listed = {one.id: one for one in await context.client.list_sequences()}
        except OutreachError as error:
            log.warning("no sequence resumed", count=len(timers), error=type(error).__name__)
            return is_gone

        async def resume(timer: Job) -> None:
            async with turns:
                try:
                    await self._resume_one(timer, listed.get(timer.key), context, revisions)
                    is_gone[timer] = False
                except NotFound:  # a list without it may be wrong: only this is an answer about it
                    is_gone[timer] = True
                except TimerReplaced:
                    pass  # a person or a guardrail has decided otherwise, or another process resumes it
                except (OutreachError, RecordsUnavailable) as error:
                    log.warning("sequence not resumed", sequence=timer.key, error=type(error).__name__)
                except Exception:  # one that fails must not stop the others
                    log.exception("sequence not resumed", sequence=timer.key)

        await asyncio.gather(*(resume(timer) for timer in timers))
        return is_gone

    async def _resume_one(
        self, timer: Job, listed: Campaign | None, context: CommandContext, revisions: Mapping[str, int]
    ) -> None:
        """Resume a sequence whose timer is still ours, unless someone else has."""
        changes = self._store.changes
        change = await changes.begin(context.workspace.name, timer.key, status="active", firing=timer)
        if change is None:
            raise Busy
        async with Held(change, changes) as held:
            is_active = change.undisturbed(revisions) and listed is not None and listed.status == "active"
            if not is_active:
                await held.send(lambda name: send_status(name, "active", context=context))
            await held.end(keep_timer=True, changed=not is_active)  # it is deleted with its announcement

    async def _announce(self, is_gone: Mapping[Job, bool], context: CommandContext, channel: str) -> None:
        """Delete the timers and tell of them, together: of one that was replaced meanwhile, nothing is said."""

        def tell(ours: Sequence[Job]) -> tuple[AuditEntry, PlannedPost | None]:
            card = ended_card({timer: is_gone[timer] for timer in ours})
            entry = AuditEntry(
                at=context.now(),
                actor=BOT,
                workspace=context.workspace.name,
                command="resume: the pause has run out",
                result=f"{card.title} ({', '.join(timer.key for timer in ours)})",
                effect="resumed",
                sequences=tuple(timer.key for timer in ours if not is_gone[timer]),
            )
            if not channel:
                return entry, None
            first = min(ours, key=lambda timer: timer.id)
            dedupe = f"note:resume:{first.id}:{timer_of(first).due_at.timestamp()}"
            return entry, PlannedPost(
                dedupe=dedupe, channel=channel, kind="note", note=notes.write_note(card), condensed=True
            )

        if await self._store.timers.finish([*is_gone], tell) and channel:
            self._planned()


def ended_card(is_gone: Mapping[Job, bool]) -> Card:
    """The end of pauses that no message of the bot tells of: of a shell, or of a sequence that is gone."""
    named = {timer: clip(timer.payload.get("name") or timer.key, length=40) for timer in is_gone}
    names = sorted(named[timer] for timer, gone in is_gone.items() if not gone)
    gone = sorted(named[timer] for timer, gone in is_gone.items() if gone)
    title = f"▶ {names[0] if len(names) == 1 else show_number(len(names), 'sequence')} "
    title += "is sending again" if len(names) == 1 else "are sending again"
    if not names:
        title = f"{show_number(len(gone), 'paused sequence')} deleted"
    text = [_listed(names)]
    if len(is_gone) == 1:
        (timer,) = is_gone
        by = actor_of(timer_of(timer))
        why = clip(timer.payload.get("reason", ""))
        text = [" · ".join(filter(None, (f"Paused by {by.shown}" if by.name else "", why)))]
    text += [f"Deleted before the pause ended: {_listed(gone)}."] if gone else []
    return Card(title=title, tone=Tone.INFO if names else Tone.WARN, text=tuple(filter(None, text)))


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more
