"""A feed that shows what is remembered at once, and opens the way to the service behind it.

The client, the scheduler and the commands take longer to load than the first screen to paint (targets, row 7).
"""

from __future__ import annotations

import asyncio
import getpass
import importlib
import logging
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from shared.card import Card
from shared.records import Actor, Records
from shared.settings import Settings, Workspace
from tui.board import compose
from tui.hands import run_at
from tui.memory import Memory, Recollection
from tui.tick import Tick, intervals

if TYPE_CHECKING:
    from shared.desk import Desk
    from tui.poller import Poller

logger = logging.getLogger(__name__)

BEHIND = ("shared.desk", "tui.poller", "shared.operations")
FIRST_PAINT = 0.05
"""Seconds that the screen has for itself."""


class Opening:
    """The real dashboard's feed, and where its command lines are run."""

    def __init__(
        self,
        settings: Settings,
        place: Workspace,
        *,
        memory: Memory,
        records: Records | None,
        now: Callable[[], datetime],
    ) -> None:
        self._settings = settings
        self._place = place
        self._memory = memory
        self._records = records
        self._now = now
        self._poller: Poller | None = None
        self._desk: Desk | None = None
        self._open = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self, deliver: Callable[[Tick], object]) -> None:
        """Begin; `deliver` is called in the event loop."""
        self._task = asyncio.create_task(self._run(deliver), name="dashboard-opening")

    def hurry(self, *names: str) -> None:
        """Read these sources now, or all."""
        if self._poller:
            self._poller.hurry(*names)

    async def aclose(self) -> None:
        """Stop reading and close the client."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def run(self, line: str) -> Card:
        """Carry out a command line, as soon as there is a client."""
        await self._open.wait()
        assert self._desk
        return await run_at(self._desk, line)

    async def _run(self, deliver: Callable[[Tick], object]) -> None:
        past = await self._memory.recall(now=self._now())
        await self._show(past, deliver)
        await asyncio.sleep(FIRST_PAINT)
        for name in BEHIND:
            await asyncio.to_thread(importlib.import_module, name)
        try:
            await self._work(deliver, past)
        except Exception:
            logger.exception("the way to the service could not be opened")
            raise

    async def _show(self, past: Recollection, deliver: Callable[[Tick], object]) -> None:
        if past.snapshot is None:
            return
        board = await asyncio.to_thread(
            compose,
            past.snapshot,
            intervals=intervals(self._settings.poll_seconds),
            trends=past.trends,
            thresholds=self._place.thresholds,
        )
        deliver(Tick(snapshot=past.snapshot, board=board, changes=(), beats=0))

    async def _work(self, deliver: Callable[[Tick], object], past: Recollection) -> None:
        """Read until cancelled."""
        from shared.desk import Desk, open_client
        from tui.poller import Poller

        async with open_client(self._settings, self._place) as client:
            self._desk = Desk(
                workspace=self._place,
                client=client,
                actor=Actor(name=getpass.getuser(), face="dashboard"),
                records=self._records,
                now=self._now,
                confirmed=True,
            )
            self._poller = Poller(
                client=client,
                workspace=self._place.name,
                poll_seconds=self._settings.poll_seconds,
                now=self._now,
                thresholds=self._place.thresholds,
                memory=self._memory,
            )
            self._open.set()
            self._poller.start(deliver, past=past)
            try:
                await asyncio.Event().wait()
            finally:
                await self._poller.aclose()
