"""Bolt's app with all its listeners."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult

from bot.commands.alerts.open_replies import OpenReplies, card_links
from bot.commands.context import CommandContexts, WorkspaceCache
from bot.commands.dispatch import CommandDispatcher
from bot.commands.self_test import SelfTest
from bot.interactions.gate import RequestGate
from bot.interactions.home import HomeTab
from bot.interactions.lifecycle import Lifecycle
from bot.interactions.listeners import Listeners
from bot.interactions.modals import Modals
from bot.interactions.responders import AnswerQueue
from bot.slack.directory import UserDirectory
from bot.slack.socket_mode import SocketMode, SocketTimeouts
from bot.slack.web_api import SlackError, WebApi
from bot.telemetry import logs
from shared.settings import Settings

IDENTIFIED_WITHIN = 1.0
"""Seconds that the first request may wait for Slack to say who the bot is; acknowledgements have three."""

SlackSide = tuple[AsyncApp, Listeners, SocketMode | None]
"""Bolt's app, the listeners, which end with the answers under way, and the connection in Socket Mode."""


def open_slack_side(
    contexts: CommandContexts,
    slack: WebApi,
    directory: UserDirectory,
    lifecycle: Lifecycle,
    *,
    alert_changed: Callable[[], None],
    account_changed: Callable[[], None],
    state: Callable[[], Awaitable[Mapping[str, Any]]],
    timeouts: SocketTimeouts | None,
) -> SlackSide:
    """Bolt's app with all its listeners, and the connection in Socket Mode where the settings want one."""
    settings = contexts.settings
    app = bolt_app(settings, slack)
    app.middleware(RequestGate(slack, directory, contexts.store.slack_events, lifecycle).admit)
    links, cache = partial(card_links, contexts.store, directory), WorkspaceCache(contexts)
    dispatcher = CommandDispatcher(
        contexts,
        directory,
        bot_commands={"replies": OpenReplies(links=links), "doctor": SelfTest(state=state)},
        alert_changed=alert_changed,
        account_changed=account_changed,
    )
    queue = AnswerQueue(contexts, directory, slack, changed=alert_changed)
    listeners = Listeners(
        dispatcher,
        contexts,
        directory,
        slack,
        queue=queue,
        modals=Modals(contexts, slack, queue, cache),
        home=HomeTab(contexts, directory, slack, cache=cache, links=links),
        reopen=lifecycle.reopen,
    )
    listeners.register(app)
    token, socket_mode = settings.slack.app_token, None
    if token is not None:
        socket_mode = SocketMode(app, token.get_secret_value(), slack, timeouts=timeouts)
    return app, listeners, socket_mode


def bolt_app(settings: Settings, slack: WebApi) -> AsyncApp:
    """Bolt without a call to Slack before a listener runs, once the bot knows itself.

    An acknowledgement must not wait for the network.
    """

    async def authorize(enterprise_id: str | None, team_id: str | None) -> AuthorizeResult:
        if not slack.identity:  # readiness asks at once and then every minute
            with contextlib.suppress(SlackError):
                await slack.call("auth.test", seconds=IDENTIFIED_WITHIN)
        return AuthorizeResult(
            enterprise_id=enterprise_id,
            team_id=team_id,
            bot_token=slack.client.token,
            # By these Bolt knows the bot's own events and leaves them out.
            bot_id=slack.identity.get("bot_id"),
            bot_user_id=slack.identity.get("user_id"),
        )

    secret = settings.slack.signing_secret
    return AsyncApp(
        name="outreach",  # without a name Bolt reads the source of every frame of the stack to find one
        signing_secret=secret.get_secret_value() if secret and settings.slack.app_token is None else "",
        client=slack.client,
        authorize=authorize,
        logger=logs.BOLT,
    )
