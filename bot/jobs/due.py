"""The jobs of the store, by kind: the ends of timed pauses, late requests, digests; and who does the others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

import structlog

from bot.cards import card_settings, write_note
from bot.commands.context import CommandContexts
from bot.delivery import MAX_CHANNELS, MAX_LOOKUPS, MAX_PAINTS, Outbox, Routes
from bot.guardrails import Guardrails
from bot.jobs.reminders import Reminders
from bot.jobs.standings import DomainChecks
from bot.worker import Kind
from shared.api.errors import NotFound, OutreachError
from shared.commands.base import CommandContext
from shared.commands.hold import Busy, hold
from shared.commands.run import with_workspace
from shared.commands.subscribe import digest_card
from shared.domain.card import Card, warning
from shared.records.audit import Actor, AuditEntry
from shared.records.records import RecordsUnavailable, Status
from shared.store import Store, jobs
from shared.store.jobs import Again, Done, End, Job
from shared.store.messages import FARTHEST_LOOKUP, LONGEST_SECONDS, LONGEST_TRIAL, PlannedPost
from shared.store.post_kinds import NOTE
from shared.store.sequences import LATE_EVERY, TimerReplaced, timer_of
from shared.store.slack_limits import UPDATES
from shared.text.formats import clip, show_number, show_some

BOT = Actor(name="outreach", face="bot")
RESUMED_AT_ONCE = 5
RETRY_SECONDS = 30.0
"""Seconds until what the service couldn't do or tell now is tried again."""
MOST_NAMES = 15

log = structlog.get_logger("jobs")


def kinds(
    store: Store,
    contexts: CommandContexts,
    *,
    planned: Callable[[], None],
    routes: Routes,
    guard: Guardrails,
    checks: DomainChecks | None = None,
    outbox: Outbox | None = None,
) -> Sequence[Kind]:
    """All kinds of jobs; without an `outbox` nothing is posted."""
    settings, lease, own = contexts.settings, store.posting.timings.lease, DueJobs(store, contexts, planned)
    remind = Reminders(store, settings.alerts, routes, planned=planned, cards=card_settings(settings))

    found = [
        # One message tells of the ends of the pauses that were made in one channel.
        Kind(
            name=jobs.RESUME,
            handle=own.resume,
            group=lambda job: (job.workspace, job.payload.get("channel")),
            batch=300,
            renewed=True,
        ),
        Kind(name=jobs.LATE, handle=own.revert_late, batch=100, renewed=True),
        # More than five reminders of a channel in one transaction are one message.
        Kind(name=jobs.REMIND, handle=remind, batch=200, parallel=1),
        Kind(name=jobs.RELEASE, one=own.release),
        Kind(name=jobs.DIGEST, one=own.give_digest, renewed=True),
        Kind(name=jobs.EVALUATE, one=guard.evaluate, parallel=1, renewed=True),
        Kind(name=jobs.ACT, one=guard.carry_out, renewed=True),
    ]
    if checks:
        found.append(Kind(name=jobs.DOMAIN, one=checks.check, parallel=1, renewed=True))
    if outbox:  # each beside the others: no alert waits for an update or a look-up
        found += [
            Kind(
                name=jobs.POST,
                one=outbox.post,
                parallel=MAX_CHANNELS,
                farthest=LONGEST_TRIAL,
                lease=lease,
            ),
            Kind(
                name=jobs.LOOKUP,
                one=outbox.look_up,
                parallel=MAX_LOOKUPS,
                farthest=FARTHEST_LOOKUP,
                lease=lease,
            ),
            Kind(
                name=jobs.PAINT,
                one=outbox.paint,
                parallel=MAX_PAINTS,
                farthest=LONGEST_SECONDS,
                pace=UPDATES,
            ),
        ]
    return found


class DueJobs:
    """Handles the jobs that need nothing but the store and the service; `planned` is called after a message was."""

    def __init__(self, store: Store, contexts: CommandContexts, planned: Callable[[], None]) -> None:
        self._store, self._contexts, self._planned = store, contexts, planned

    async def release(self, held: Job, _deadline: float) -> None:
        """Post what was held until the end of the quiet hours."""
        if await self._store.outbox.release(held):
            self._planned()

    async def give_digest(self, job: Job, _deadline: float) -> End | None:
        """Plan a digest that is due at its time and time zone; it is posted once."""
        if (due := await self._store.digests.due(job)) is None:
            return None
        context = self._contexts.at(self._contexts.settings.workspace(due.workspace), BOT)
        card = await digest_card(context, length=due.days)
        if len(self._contexts.clients) > 1:
            card = with_workspace(card, workspace=due.workspace)
        if await self._store.digests.give(job, due, write_note(card)):
            self._planned()
        return None

    async def resume(self, timers: Sequence[Job], _deadline: float) -> Mapping[Job, End]:
        """Resume the sequences whose timed pause has ended; doing it twice does no harm, and is announced once."""
        workspace = self._contexts.settings.workspace(timers[0].workspace)
        context, turns = self._contexts.at(workspace, BOT), asyncio.Semaphore(RESUMED_AT_ONCE)
        ended: list[Job] = []
        gone: list[Job] = []

        async def resume(timer: Job) -> None:
            async with turns:
                try:
                    await self._resume_one(timer, context)
                    ended.append(timer)
                except NotFound:  # a list without it may be wrong: only this is an answer about it
                    gone.append(timer)
                except TimerReplaced:
                    pass  # a person or a guardrail has decided otherwise, or another process resumes it
                except (OutreachError, RecordsUnavailable) as error:
                    log.warning("sequence not resumed", sequence=timer.key, error=type(error).__name__)
                except Exception:  # one that fails must not stop the others
                    log.exception("sequence not resumed", sequence=timer.key)

        def tell(ours: Sequence[Job]) -> tuple[AuditEntry, PlannedPost | None]:
            """The announcement of all together: of one that was replaced meanwhile, nothing is said."""
            back = [timer for timer in ours if timer not in gone]
            card = ended_card([timer.payload.get("name") or timer.key for timer in back])
            entry = AuditEntry(
                at=context.now(),
                actor=BOT,
                workspace=workspace.name,
                command="resume: the pause has run out",
                result=f"{card.title} ({', '.join(timer.key for timer in ours)})",
                effect="resumed",
                sequences=tuple(timer.key for timer in back),
            )
            first = min(ours, key=lambda timer: timer.id)
            post = PlannedPost(
                dedupe=f"note:resume:{first.id}:{timer_of(first).due_at.timestamp()}",
                channel=timers[0].payload.get("channel") or workspace.alert_channel or "",
                kind=NOTE,
                note=write_note(card),
                condensed=True,
            )
            return entry, post if post.channel else None

        await asyncio.gather(*map(resume, timers))
        over = [*ended, *gone]
        if over and await self._store.records.finish(over, tell):
            self._planned()
        return {job: Again(after=RETRY_SECONDS) for job in timers if job not in over}

    async def _resume_one(self, timer: Job, context: CommandContext) -> None:
        """Resume a sequence while its timer is ours; that it may be active already costs less than to ask."""
        changes = self._store.changes
        change = await changes.begin(context.workspace.name, timer.key, status="active", firing=timer)
        if change is None:
            raise Busy
        async with hold(change, changes) as held:
            await held.send(context)
            await held.end(keep_timer=True)  # it is deleted with its announcement

    async def revert_late(self, late: Sequence[Job], _deadline: float) -> Mapping[Job, End]:
        """Have the confirmed status of sequences that a late request changed; until none can come any more."""
        workspace = late[0].workspace
        doubts = await self._store.changes.doubts(workspace, [job.key for job in late])
        confirmed = {doubt.sequence: doubt.confirmed for doubt in doubts if doubt.confirmed}
        # It costs a request only while one that may come contradicts what was confirmed.
        statuses: Mapping[str, str | None] = {}
        if confirmed:
            try:
                listed = await self._contexts.clients[workspace].list_sequences()
                statuses = {sequence.id: sequence.status for sequence in listed}
            except OutreachError as error:
                log.warning("late requests not looked for", workspace=workspace, error=type(error).__name__)
        for sequence, status in confirmed.items():
            if statuses.get(sequence) not in {None, status}:
                await self._revert(workspace, sequence, status)
        open_ = {doubt.sequence for doubt in doubts}
        return {job: Again(after=LATE_EVERY, attempts=0) if job.key in open_ else Done() for job in late}

    async def _revert(self, workspace: str, sequence: str, status: Status) -> None:
        change = await self._store.changes.begin(workspace, sequence, status=status, if_confirmed=True)
        if change is None:  # someone changes it, or has changed it since
            return
        context = self._contexts.at(self._contexts.settings.workspace(workspace), BOT)
        try:
            async with hold(change, self._store.changes) as held:
                await held.send(context)
                await held.end(keep_timer=True)
        except OutreachError as error:
            log.warning("late request not reverted", sequence=sequence, error=type(error).__name__)
        else:
            log.warning("late request reverted", sequence=sequence, status=status)


def ended_card(names: Sequence[str]) -> Card:
    """The end of pauses that no message of the bot tells of: of a shell, or of sequences that are gone."""
    short = sorted(clip(name, length=40) for name in names)
    if not short:
        return warning("The sequences were deleted before their pause ended")
    if len(short) == 1:
        return Card(f"▶ {short[0]} is sending again")
    title = f"▶ {show_number(len(short), 'sequence')} are sending again"
    return Card(title, text=(show_some(short, MOST_NAMES),))
