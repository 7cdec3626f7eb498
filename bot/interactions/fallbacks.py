"""Fallbacks: outdated buttons and modals, other commands, and errors in listeners."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from slack_bolt.async_app import AsyncAck, AsyncApp, AsyncRespond

from bot.commands import dispatch
from bot.commands.answer import Answer
from bot.commands.canned_replies import UNKNOWN
from bot.interactions import forms
from bot.interactions.modals import Modals
from bot.interactions.responders import Address, Thread, thread_of
from bot.slack.web_api import WebApi

_ANYTHING = re.compile(".*", re.DOTALL)


class Fallbacks:
    """The fallback callbacks; `register` adds them to Bolt after all others."""

    def __init__(self, modals: Modals, slack: WebApi) -> None:
        self._modals, self._slack = modals, slack

    def register(self, app: AsyncApp) -> None:
        """Any other request."""
        app.command(_ANYTHING)(self.unknown)
        app.action(_ANYTHING)(self.unknown_click)
        app.shortcut(_ANYTHING)(self.unknown_click)
        app.view(_ANYTHING)(self.outdated_view)
        app.view_closed(_ANYTHING)(self.acknowledge)
        app.options(_ANYTHING)(self.no_choices)
        app.event(_ANYTHING)(self.acknowledge)
        app.error(self.on_error)

    async def no_choices(self, ack: AsyncAck) -> None:
        await ack(options=[])

    async def unknown(self, ack: AsyncAck, respond: AsyncRespond, body: Mapping[str, Any]) -> None:
        """A command of another name."""
        await ack()
        responder = Address(
            respond, self._slack, person=body.get("user_id", ""), channel=body.get("channel_id", "")
        )
        await responder.reply(Answer(card=UNKNOWN))

    async def unknown_click(self, ack: AsyncAck, respond: AsyncRespond, body: Mapping[str, Any]) -> None:
        """A button of an older version."""
        await ack()
        user, channel = (body.get("user") or {}).get("id", ""), (body.get("channel") or {}).get("id", "")
        if body.get("response_url"):
            responder = Address(respond, self._slack, person=user, channel=channel, thread_ts=thread_of(body))
            return await responder.reply(Answer(card=UNKNOWN))
        await self._modals.reply_in_modal(
            Answer(card=UNKNOWN), str(body.get("trigger_id") or ""), person=user
        )
        return None

    async def outdated_view(self, ack: AsyncAck) -> None:
        await ack(response_action="update", view=forms.ack_view(UNKNOWN))

    async def acknowledge(self, ack: AsyncAck) -> None:
        await ack()

    async def on_error(self, error: Exception, respond: AsyncRespond, body: Mapping[str, Any]) -> None:
        """An exception from a listener: the person gets an error with a reference."""
        answer = Answer(card=dispatch.failure(error))
        user = body.get("user") or {}
        person = body.get("user_id") or (user.get("id", "") if isinstance(user, dict) else "")
        channel = body.get("channel_id") or (body.get("channel") or {}).get("id", "")
        if body.get("response_url"):
            responder = Address(
                respond, self._slack, person=person, channel=channel, thread_ts=thread_of(body)
            )
            await responder.reply(answer)
        elif person:
            await Thread(self._slack, channel=person).reply(answer)
