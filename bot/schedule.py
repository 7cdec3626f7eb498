"""What is done by the clock. APScheduler only rings; what is due, and by whom, stands in the ledger's rows."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import structlog
from apscheduler.executors.asyncio import AsyncIOExecutor
from apscheduler.schedulers.asyncio import AsyncIOScheduler

from bot import drawing
from bot.desks import Desks
from bot.ledger import Ledger
from bot.ledger.inbox import Planned
from bot.ledger.timers import Firing
from shared import commands, operations
from shared.api.errors import NotFound, OutreachError
from shared.card import Card, Tone
from shared.records import Actor, RecordsUnavailable
from shared.words import join

BOT = Actor(name="outreach", face="bot")
TIMER_SECONDS = 1.0
RETRY_SECONDS = 30.0

log = structlog.get_logger("schedule")
Job = Callable[[], Awaitable[object]]


class Clockwork:
    """Runs jobs at intervals until closed; a job that fails is logged and rung again."""

    def __init__(self) -> None:
        self._ringing: set[asyncio.Task[None] | None] = set()
        self._scheduler = AsyncIOScheduler(timezone=UTC, executors={"default": AsyncIOExecutor()})

    def every(self, seconds: float, job: Job, *, name: str, at_once: bool = False) -> None:
        """Ring a job; never twice at the same time."""

        async def ring() -> None:
            task = asyncio.current_task()
            self._ringing.add(task)
            try:
                await job()
            except asyncio.CancelledError:
                log.debug("job cut short", job=name)  # closing; the task ends here in any case
            except Exception as error:
                log.warning("job failed", job=name, error=type(error).__name__, exc_info=error)
            finally:
                self._ringing.discard(task)

        first = {"next_run_time": datetime.now(UTC)} if at_once else {}
        self._scheduler.add_job(
            ring, "interval", seconds=seconds, id=name, coalesce=True, max_instances=1, **first
        )

    def start(self) -> None:
        """Begin; needs the running loop."""
        self._scheduler.start()

    async def aclose(self) -> None:
        """Ring no more; jobs under way are cancelled and waited for."""
        under_way = [task for task in self._ringing if task]
        self._scheduler.shutdown(wait=False)
        await asyncio.gather(*under_way, return_exceptions=True)


class Timers:
    """Carries out the ledger's timers, each once over all processes."""

    def __init__(self, ledger: Ledger, desks: Desks, *, planned: Callable[[], None]) -> None:
        self._ledger, self._desks, self._planned = ledger, desks, planned

    async def fire(self) -> None:
        """What is due now."""
        for firing in await self._ledger.claim_timers():
            if firing.timer.kind != "resume":
                await self._ledger.postpone_timer(firing, seconds=3600)
                continue
            await self._resume(firing)

    async def _resume(self, firing: Firing) -> None:
        try:
            card = await self._run(firing)
        except NotFound as error:
            card = Card(title="A paused sequence is gone", tone=Tone.WARN, text=(str(error),))
        except (OutreachError, RecordsUnavailable) as error:
            log.warning("timer postponed", key=firing.timer.key, error=type(error).__name__)
            await self._ledger.postpone_timer(firing, seconds=RETRY_SECONDS)
            return
        await self._announce(firing, card)
        await self._ledger.timer_done(firing)

    async def _run(self, firing: Firing) -> Card:
        workspace = self._desks.settings.workspace(firing.workspace)
        invocation = commands.parse(join("resume", firing.timer.key))
        return await operations.run(invocation, self._desks.at(workspace, BOT))

    async def _announce(self, firing: Firing, card: Card) -> None:
        channel = (
            firing.timer.payload.get("channel")
            or self._desks.settings.workspace(firing.workspace).alert_channel
        )
        if channel:
            said = Card(title=card.title, tone=card.tone, text=(*card.text, "Its pause has run out."))
            dedupe = f"note:resume:{firing.id}:{firing.timer.due_at.timestamp()}"
            note = Planned(dedupe=dedupe, channel=channel, kind="note", note=drawing.write_note(said))
            await self._ledger.note(firing.workspace, note)
            self._planned()
