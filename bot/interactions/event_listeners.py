"""Slack's events: mentions, direct messages, joined channels, visits to Home."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from slack_bolt.async_app import AsyncAck, AsyncApp

from bot.commands.answer import Answer
from bot.commands.canned_replies import GREETING, NOBODY, WHICH_ALERT
from bot.commands.dispatch import CommandDispatcher
from bot.interactions import thread_lines
from bot.interactions.answer_queue import QueuedThread
from bot.interactions.modals import Modals
from bot.interactions.responders import Thread, places_of, run_and_reply
from bot.runtime.supervisor import ActiveTasks
from bot.slack.directory import UserDirectory
from bot.slack.web_api import WebApi
from shared.commands import COMMANDS, find_command
from shared.text.tokenize import from_slack

_CALLED = re.compile(r"^\s*<@[^>]+>\s*")


class EventListeners:
    """The callbacks of events; `register` adds them to Bolt."""

    def __init__(
        self,
        dispatcher: CommandDispatcher,
        active: ActiveTasks,
        directory: UserDirectory,
        modals: Modals,
        slack: WebApi,
        *,
        reopen: Callable[[str], Awaitable[None]],
    ) -> None:
        self._dispatcher, self._active, self._directory = dispatcher, active, directory
        self._modals, self._slack, self._reopen = modals, slack, reopen

    def register(self, app: AsyncApp) -> None:
        app.event("app_mention")(self.mention)
        app.event("message")(self.message)
        app.event("member_joined_channel")(self.joined)
        app.event("app_home_opened")(self.home)

    async def mention(self, ack: AsyncAck, event: Mapping[str, Any]) -> None:
        """`@outreach …`, which works in threads, where slash commands do not."""
        await ack()
        line = from_slack(_CALLED.sub("", event.get("text", "")))
        await self._answer_message(line, event, thread=event.get("thread_ts") or event["ts"])

    async def message(self, ack: AsyncAck, event: Mapping[str, Any]) -> None:
        """Direct messages to the bot; other messages are ignored."""
        await ack()
        if event.get("channel_type") != "im" or event.get("bot_id") or event.get("subtype"):
            return
        line = from_slack(_CALLED.sub("", event.get("text", "")))
        await self._answer_message(line, event, thread=event.get("thread_ts") or "")

    async def _answer_message(self, line: str, event: Mapping[str, Any], *, thread: str) -> None:
        with self._active.track():
            answering = self._answer_to(line, event)
            responder = QueuedThread(
                self._modals.queue, channel=event["channel"], thread_ts=thread, about=str(event["ts"])
            )
            answer = await run_and_reply(answering, responder)
            await self._modals.announce(answer, event["channel"])

    async def _answer_to(self, line: str, event: Mapping[str, Any]) -> Answer:
        """A bot's message has `bot_id`, whatever name it was posted under; a workflow's may have no `user`.

        https://docs.slack.dev/reference/events/message/bot_message
        """
        channel, user = event["channel"], str(event.get("user") or "")
        if not user:
            return Answer(card=NOBODY)
        alert = await self._modals.alert_of_thread(
            places_of(channel, user), str(event.get("thread_ts") or "")
        )
        if alert is None and thread_lines.needs_alert(line):
            return Answer(card=WHICH_ALERT)
        if alert and find_command(line.strip()) is COMMANDS["help"]:
            return Answer(card=thread_lines.help_card(alert))
        line = thread_lines.line_about(line, alert, several=self._modals.several)
        answer = await self._dispatcher.perform(line, user, is_bot=bool(event.get("bot_id")), channel=channel)
        return answer if alert else replace(answer, noted=False)

    async def joined(self, ack: AsyncAck, event: Mapping[str, Any]) -> None:
        """The bot joined a channel: held alerts are posted, and whoever invited it gets the greeting.

        If the bot joined a subscribed channel itself, there is no `inviter`
        (https://docs.slack.dev/reference/events/member_joined_channel).
        """
        await ack()
        with self._active.track():
            if event.get("user") == await self._directory.own_id():
                await self._reopen(event["channel"])
                if event.get("inviter"):
                    await Thread(self._slack, channel=event["channel"]).reply(Answer(card=GREETING))

    async def home(self, ack: AsyncAck, event: Mapping[str, Any]) -> None:
        """A person opens the Home tab."""
        await ack()
        with self._active.track():
            if event.get("tab", "home") == "home":
                await self._modals.home.show(event["user"], view=event.get("view"))
