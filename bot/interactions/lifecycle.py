"""Reacts to changes of the app and its channels at once, instead of after the next failed post."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

import structlog

from bot.slack.directory import UserDirectory
from shared.store import Store
from shared.store.messages import Report

CHECK_SECONDS = 600.0
_CURED_BY_PEOPLE = frozenset({"is_archived", "not_in_channel", "channel_not_found"})
_FAMILIES = ("channel", "group")

EventHandler = Callable[[Mapping[str, Any]], Awaitable[None]]

log = structlog.get_logger("slack_events")


class Lifecycle:
    """`set_channels` are those of the settings; `report` words what is told elsewhere.

    `changed` is told when something may be posted now.
    """

    def __init__(
        self,
        store: Store,
        directory: UserDirectory,
        *,
        set_channels: Collection[str],
        report: Report,
        changed: Callable[[], None],
        lost_token: Callable[[str], None],
    ) -> None:
        self._store, self._directory, self._set = store, directory, set_channels
        self._report, self._changed, self._lost_token = report, changed, lost_token

    def handler(self, kind: str) -> EventHandler | None:
        """Find the handler of an event about the app or a channel; None for all others."""
        family, _, act = kind.partition("_")
        if family in _FAMILIES:
            kind = f"channel_{act}"
        handlers: Mapping[str, EventHandler] = {
            "channel_archive": self.archived,
            "channel_unarchive": self.unarchived,
            "channel_rename": self.renamed,
            "channel_left": self.left,
            "app_uninstalled": self.token_lost,
            "tokens_revoked": self.token_lost,
        }
        return handlers.get(kind)

    async def archived(self, event: Mapping[str, Any]) -> None:
        await self._close(channel_id(event.get("channel")), "is_archived")

    async def unarchived(self, event: Mapping[str, Any]) -> None:
        if channel := channel_id(event.get("channel")):
            await self.reopen(channel)

    async def left(self, event: Mapping[str, Any]) -> None:
        """The bot was removed; some public channels it can post to all the same."""
        if event["type"] == "group_left" or not await self._directory.posts_anywhere():
            await self._close(channel_id(event.get("channel")), "not_in_channel")

    async def renamed(self, event: Mapping[str, Any]) -> None:
        self._directory.forget_channel(channel_id(event.get("channel")))

    async def token_lost(self, event: Mapping[str, Any]) -> None:
        """The app was removed or its token taken back: everything waits until it is installed again.

        https://docs.slack.dev/reference/events/app_uninstalled, https://docs.slack.dev/reference/events/tokens_revoked
        """
        if event["type"] == "app_uninstalled" or revokes_bot(event):
            log.error("the app was removed from Slack, or its token revoked", event_type=event["type"])
            self._lost_token(str(event["type"]))

    async def check_channels(self) -> None:
        """Ask Slack about the channels of the settings, for what happened while the bot was away.

        A channel that takes nothing and that nothing names any more, because its rule left the settings, is forgotten.
        """
        await self._store.posting.forget_unused_channels(self._set, errors=_CURED_BY_PEOPLE)
        broken = await self._store.posting.broken()
        for channel in sorted(self._set):
            place = await self._directory.find_place(channel)
            if place.error:
                log.warning("a channel of the settings takes no alerts", problem=place.refusal, fix=place.fix)
                await self._close(channel, place.error)
            elif broken.get(channel) in _CURED_BY_PEOPLE:
                await self.reopen(channel)

    async def reopen(self, channel: str) -> None:
        """A channel takes posts again."""
        self._directory.forget_channel(channel)
        await self._store.posting.open_channel(channel, report=self._report)
        self._changed()

    async def _close(self, channel: str, error: str) -> None:
        if not channel:
            return
        await self._directory.channel_name(channel)  # while Slack still tells it
        await self._store.posting.close_channel(
            channel, error, report=self._report, used=channel in self._set
        )
        self._changed()


def channel_id(channel: object) -> str:
    """The id of a channel, given as such or with its name; empty where it is none."""
    named = channel.get("id") if isinstance(channel, dict) else channel
    return named if isinstance(named, str) and _CHANNEL.fullmatch(named) else ""


_CHANNEL = re.compile(r"[A-Z0-9]{2,30}")


def revokes_bot(event: Mapping[str, Any]) -> bool:
    """True if `tokens_revoked` names the bot's token, and not a person's, which the bot does not use."""
    tokens = event.get("tokens")
    return isinstance(tokens, dict) and bool(tokens.get("bot"))
