"""Composition: settings become store, clients, Slack and clock, and one HTTP application before them all.

The order of closing is the reverse of opening: no new requests, then the answers under way, then the messages
under way, then what the intake has taken is committed. Slack and the service may be down at any time, at the
start too; taking deliveries needs the database alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from secrets import token_hex

import structlog
from slack_bolt.adapter.asgi.async_handler import AsyncSlackRequestHandler
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult

from bot.alerts.routing import Routes
from bot.commands import command_help
from bot.commands.context import CommandContexts, open_contexts
from bot.commands.dispatch import CommandDispatcher
from bot.commands.open_replies import OpenReplies
from bot.commands.self_test import SelfTest
from bot.delivery.channel_health import ChannelHealth
from bot.delivery.repainter import Repainter
from bot.delivery.repainter import draw as draw_posts
from bot.delivery.worker import DeliveryWorker
from bot.http.asgi import SLACK, AsgiApp
from bot.http.readiness import ReadinessProbe
from bot.http.slack_guard import SlackGuard
from bot.http.webhook import BodyReader, DeliveryIntake, WebhookReceiver
from bot.http.webhook_secrets import WebhookSecrets
from bot.interactions.lifecycle import CHECK_SECONDS, Lifecycle
from bot.interactions.listeners import Listeners
from bot.interactions.modals import Modals
from bot.jobs import register
from bot.jobs.card_refresh import CardRefresher
from bot.jobs.scheduler import JobScheduler
from bot.runtime.supervisor import Supervisor
from bot.runtime.wakeup import DeliverySignals, Wakeup
from bot.slack.directory import UserDirectory
from bot.slack.messages import MessageSender
from bot.slack.socket_mode import SocketMode, SocketTimeouts
from bot.slack.web_api import SlackError, WebApi, open_web_api
from bot.store import LeaseTimings, Store, open_store
from bot.store.db.lock import sole_owner
from bot.store.instance import BEAT_SECONDS
from bot.store.webhooks import SecretCipher, WebhookSubscriptions
from bot.telemetry import logs
from shared.api.errors import OutreachError
from shared.domain.records import RecordsUnavailable
from shared.settings import Settings

GRACE = 3.0
"""Seconds that each stage of the shutdown may take."""
PROBE_SECONDS = 60.0
IDENTIFIED_WITHIN = 1.0
"""Seconds that the first request may wait for Slack to say who the bot is; acknowledgements have three."""

log = structlog.get_logger("bot")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bot:
    """The running parts, for the server and for tests."""

    web: AsgiApp
    store: Store
    signals: DeliverySignals
    worker: DeliveryWorker
    listeners: Listeners
    intake: DeliveryIntake
    socket_mode: SocketMode | None


@asynccontextmanager
async def open_bot(
    settings: Settings, *, pace: LeaseTimings | None = None, timeouts: SocketTimeouts | None = None
) -> AsyncIterator[Bot]:
    """Everything but the server, running; closed in order at the end. Raises `RecordsUnavailable`."""
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_store(settings.database, timings=pace))
        if stack.enter_context(sole_owner(settings.database)):
            await store.leases.take_over()
        supervisor = Supervisor(expected=(OutreachError, RecordsUnavailable, SlackError))
        contexts = await stack.enter_async_context(
            open_contexts(settings, store, problems=supervisor.problems)
        )
        slack = await stack.enter_async_context(_open_slack(settings))
        histories = await stack.enter_async_context(register.open_histories(contexts))
        signals, account_changed = DeliverySignals(), Wakeup()
        intake = DeliveryIntake(store, stored=signals.stored)
        messages = MessageSender(slack, timeout=store.leases.timings.patience)
        directory = UserDirectory(slack, groups=settings.roles.groups)
        report = ChannelHealth(settings, name=directory.known_name)
        several, link = len(settings.workspaces) > 1, settings.links.lead
        draw = partial(draw_posts, store, several=several, link=link)
        repainter = Repainter(store, messages, draw=draw, wakeup=signals.repaints)
        worker = DeliveryWorker(
            store,
            messages,
            signals=signals,
            draw=draw,
            routes=Routes(
                alert_channels={name: one.alert_channel for name, one in settings.workspaces.items()},
                routing=settings.routes,
                remind_after=settings.alert_policy.remind_after,
            ),
            stored_count=lambda: intake.count,
            report=report,
            before_report=directory.channel_name,
        )
        refresher = CardRefresher(
            store,
            contexts,
            yesterday=register.Yesterday(histories),
            soon=account_changed,
            planned=signals.changed,
        )
        bolt = bolt_app(settings, slack)
        lifecycle = Lifecycle(
            store,
            directory,
            set_channels=set_channels(settings),
            report=report,
            changed=signals.changed,
            lost_token=worker.note_lost_token,
        )
        lifecycle.register(bolt)
        socket_mode = _socket_mode(settings, bolt, slack, timeouts=timeouts)
        listeners = _listeners(
            contexts,
            directory,
            slack,
            socket_mode,
            lifecycle=lifecycle,
            alert_changed=signals.changed,
            account_changed=account_changed.set,
        )
        listeners.register(bolt)
        secrets = WebhookSecrets(
            settings,
            WebhookSubscriptions(store.database, SecretCipher(settings.secret_keys)),
            now=time.monotonic,
        )
        await secrets.open()
        beat = await stack.enter_async_context(_heartbeat(store))
        readiness = ReadinessProbe(
            store,
            contexts,
            slack,
            worker,
            supervisor=supervisor,
            secrets=secrets,
            instance=await store.instance.id(),
            socket_mode=socket_mode,
        )
        bodies = BodyReader()
        web = AsgiApp(
            receiver=WebhookReceiver(intake, bodies=bodies, secrets=secrets, now=store.database.clock),
            slack=_slack_guard(settings, bolt, bodies),
            default_workspace=settings.default_workspace,
            readiness=readiness.readiness,
            update_gauges=readiness.update_gauges,
        )
        scheduler = JobScheduler(supervisor)
        register.add_jobs(scheduler, store, contexts, histories=histories, signals=signals)
        scheduler.every(BEAT_SECONDS, beat, name="heartbeat")
        scheduler.every(CHECK_SECONDS, lifecycle.check_channels, name="channels", at_once=True)
        scheduler.every(PROBE_SECONDS, readiness.probe, name="readiness", at_once=True)
        await stack.enter_async_context(supervisor.running("intake", intake.run))
        await stack.enter_async_context(supervisor.running("repainter", repainter.run))
        await stack.enter_async_context(supervisor.running("delivery", worker.run))
        await stack.enter_async_context(supervisor.running("card_refresh", refresher.run))
        if socket_mode:
            await stack.enter_async_context(supervisor.running("socket_mode", socket_mode.run))
        scheduler.start()
        stack.push_async_callback(scheduler.aclose)
        yield Bot(
            web=web,
            store=store,
            signals=signals,
            worker=worker,
            listeners=listeners,
            intake=intake,
            socket_mode=socket_mode,
        )
        await listeners.drain(GRACE)
        await worker.drain(GRACE)


@asynccontextmanager
async def _heartbeat(store: Store) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Show in the database that this bot runs, until it ends."""
    process = f"{os.getpid()}-{token_hex(4)}"
    await store.instance.beat(process)
    try:
        yield partial(store.instance.beat, process)
    finally:
        with contextlib.suppress(RecordsUnavailable, TimeoutError):
            await asyncio.wait_for(store.instance.leave(process), GRACE)


def set_channels(settings: Settings) -> frozenset[str]:
    """The channels that the settings name."""
    alerts = [workspace.alert_channel for workspace in settings.workspaces.values()]
    ruled = [rule.subscription.channel for rule in settings.routes.rules]
    return frozenset(filter(None, (*alerts, *ruled, settings.routes.fallback)))


def _open_slack(settings: Settings) -> AbstractAsyncContextManager[WebApi]:
    token = settings.slack.bot_token
    return open_web_api(token.get_secret_value() if token else "", base_url=settings.slack.api_url or "")


def _listeners(
    contexts: CommandContexts,
    directory: UserDirectory,
    slack: WebApi,
    socket_mode: SocketMode | None,
    *,
    lifecycle: Lifecycle,
    alert_changed: Callable[[], None],
    account_changed: Callable[[], None],
) -> Listeners:
    modals = Modals(contexts, directory, slack, changed=alert_changed)
    dispatcher = CommandDispatcher(
        contexts,
        directory,
        bot_commands={
            "help": command_help.overview,
            "open": OpenReplies(links=modals.links),
            "doctor": SelfTest(slack=slack, socket_mode=socket_mode),
        },
        alert_changed=alert_changed,
        account_changed=account_changed,
    )
    return Listeners(dispatcher, directory, modals, slack, reopen=lifecycle.reopen)


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
        signing_secret=secret.get_secret_value() if secret and settings.slack.app_token is None else "",
        client=slack.client,
        authorize=authorize,
        logger=logs.BOLT,
    )


def _slack_guard(settings: Settings, bolt: AsyncApp, bodies: BodyReader) -> SlackGuard | None:
    secret = settings.slack.signing_secret
    if secret is None or settings.slack.app_token is not None:
        return None
    handler = AsyncSlackRequestHandler(bolt, path=SLACK)
    return SlackGuard(handler, signing_secret=secret.get_secret_value(), bodies=bodies)


def _socket_mode(
    settings: Settings, bolt: AsyncApp, slack: WebApi, *, timeouts: SocketTimeouts | None
) -> SocketMode | None:
    token = settings.slack.app_token
    return SocketMode(bolt, token.get_secret_value(), slack, timeouts=timeouts) if token else None
