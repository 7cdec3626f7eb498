"""Looks for posts whose outcome is unknown, beside the worker, so that no alert waits for a look-up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

import structlog

from bot.slack.messages import MessageSender
from shared.store import Store
from shared.store.jobs import End, Job
from shared.store.queue.leases import Report
from shared.store.queue.lookups import Look, Lookup

MAX_LOOKUPS = 4
"""Places that are read at the same time."""

log = structlog.get_logger("finder")


class PostFinder:
    """Handles jobs of the kind `lookup`, one for each channel or thread with uncertain posts."""

    def __init__(
        self,
        store: Store,
        messages: MessageSender,
        *,
        report: Report,
        before_report: Callable[[str], Awaitable[object]],
    ) -> None:
        self._store, self._messages = store, messages
        self._report, self._before_report = report, before_report

    async def __call__(self, places: Sequence[Job], deadline: float) -> Mapping[Job, End]:
        """Look for the posts that are uncertain in these places."""
        for job in places:
            lookup = await self._store.lookups.place(job)
            if lookup:
                await self._serve(lookup, deadline=deadline)
        return {}  # each ends with what was seen

    async def _serve(self, lookup: Lookup, *, deadline: float) -> None:
        try:
            look = await self._look(lookup, deadline=deadline)
        except Exception as error:  # one place that can't be read must not stop the others
            log.exception("look-up failed", channel=lookup.channel)
            look = Look(error=type(error).__name__)
        if look.found:
            await self._before_report(lookup.channel)
        await self._store.lookups.settle(lookup, look, report=self._report)
        write = log.warning if look.error else log.info
        write(
            "looked up",
            channel=lookup.channel,
            alerts=[post.alert_id or post.kind for post in lookup.posts],
            found=sorted(look.found.values()),
            complete=look.complete,
            error=look.error,
        )

    async def _look(self, lookup: Lookup, *, deadline: float) -> Look:
        return await self._messages.look(
            lookup.channel,
            {post.key for post in lookup.posts},
            since=lookup.since,
            age=lookup.age,
            deadline=deadline,
            thread_ts=lookup.thread_ts,
            position=lookup.position,
        )
