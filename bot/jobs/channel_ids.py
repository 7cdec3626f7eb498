"""Settings that name a channel by an id that Slack has replaced since: roles, routes and alerts follow it.

https://docs.slack.dev/reference/events/channel_id_changed
"""

from __future__ import annotations

import asyncio

import structlog

from bot.store import Store
from shared.settings import Settings
from shared.settings.channels import OldId, old_ids, with_channel_ids

LOOK_SECONDS = 5.0
"""Seconds after which a process knows an id of which Slack has told another one."""

log = structlog.get_logger("channel_ids")


class ChannelIds:
    """The `settings` with the ids of now; `outdated` is set when they are not those of now any more."""

    def __init__(
        self, written: Settings, settings: Settings, *, old: tuple[OldId, ...], store: Store
    ) -> None:
        self._written, self._store = written, store
        self.settings, self.old = settings, old
        self.outdated = asyncio.Event()

    @classmethod
    async def read(cls, written: Settings, store: Store) -> ChannelIds:
        """Raises `RecordsUnavailable`."""
        moved = await store.slack_events.moved_channels()
        old = old_ids(written, moved)
        for one in old:
            log.warning("the settings name an old channel id", place=one.place, old=one.old, new=one.new)
        return cls(written, with_channel_ids(written, moved), old=old, store=store)

    async def look(self) -> None:
        """Whether a channel has moved since."""
        if old_ids(self._written, await self._store.slack_events.moved_channels()) != self.old:
            self.outdated.set()
