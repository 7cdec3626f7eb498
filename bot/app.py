"""Builds the bot from its settings: store, clients, Slack, clock, and one HTTP application in front of them.

Closes in reverse order: no new requests, then finishes answers and messages in progress, then commits accepted
deliveries. Slack and the service may be down at any time, also at the start: the intake needs only the database.
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

import aiohttp
import structlog
from slack_bolt.adapter.asgi.async_handler import AsyncSlackRequestHandler
from slack_bolt.async_app import AsyncApp

from bot.alerts.links import links_of
from bot.alerts.reminders import times_of
from bot.alerts.routing import Routes
from bot.commands.context import open_contexts
from bot.delivery.channel_health import ChannelHealth
from bot.delivery.finder import PostFinder
from bot.delivery.poster import Poster
from bot.delivery.repainter import Repainter
from bot.delivery.repainter import draw as draw_posts
from bot.delivery.router import Router
from bot.guardrails.watch import GuardrailWatch
from bot.http.asgi import SLACK, AsgiApp
from bot.http.readiness import ReadinessProbe
from bot.http.reply_page import ReplyPage
from bot.http.slack_guard import SlackGuard
from bot.http.webhook import BodyReader, DeliveryIntake, WebhookReceiver
from bot.http.webhook_secrets import FORGET_SECONDS, WebhookSecrets
from bot.interactions.lifecycle import CHECK_SECONDS, Lifecycle
from bot.interactions.listeners import Listeners
from bot.interactions.slack_apps import SlackApps
from bot.jobs import register
from bot.jobs.card_refresh import CardRefresher
from bot.jobs.scheduler import JobScheduler
from bot.runtime.supervisor import Supervisor
from bot.runtime.wakeup import DeliverySignals, Wakeup
from bot.slack.directory import UserDirectory
from bot.slack.messages import MessageSender
from bot.slack.pause_rights import PauseRights
from bot.slack.rota_people import RotaPeople
from bot.slack.socket_mode import SocketMode, SocketTimeouts
from bot.slack.web_api import SlackError, WebApi, open_web_api
from bot.worker import Worker
from shared.api.errors import OutreachError
from shared.api.transport import Transport
from shared.records.records import RecordsUnavailable
from shared.settings import Settings
from shared.store import LeaseTimings, Store, open_store
from shared.store.db.lock import sole_owner
from shared.store.instance import BEAT_SECONDS
from shared.store.jobs import EVALUATE
from shared.store.webhooks import SecretCipher, WebhookSubscriptions

GRACE = 3.0
"""Seconds that each stage of the shutdown may take."""
PROBE_SECONDS = 60.0

log = structlog.get_logger("bot")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bot:
    """The running parts, for the server and for tests."""

    web: AsgiApp
    store: Store
    signals: DeliverySignals
    worker: Worker
    listeners: Listeners
    intake: DeliveryIntake
    socket_mode: SocketMode | None


@asynccontextmanager
async def open_bot(
    settings: Settings,
    *,
    pace: LeaseTimings | None = None,
    timeouts: SocketTimeouts | None = None,
    slack_session: aiohttp.ClientSession | None = None,
    transport: Transport | None = None,
) -> AsyncIterator[Bot]:
    """Everything but the server, running; closed in order at the end. Raises `RecordsUnavailable`.

    `slack_session` and `transport` carry the requests to Slack and to the service in place of their own connections.
    """
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_store(settings.database, timings=pace))
        await _begin(store, settings, alone=stack.enter_context(sole_owner(settings.database)))
        supervisor = Supervisor(expected=(OutreachError, RecordsUnavailable, SlackError))
        contexts = await stack.enter_async_context(
            open_contexts(settings, store, problems=supervisor.problems, transport=transport)
        )
        cipher = SecretCipher(settings.secret_keys)
        slack = await stack.enter_async_context(_open_slack(settings, slack_session))
        histories = await stack.enter_async_context(register.open_histories(contexts))
        signals, account_changed = DeliverySignals(), Wakeup()
        intake = DeliveryIntake(store, stored=signals.stored)
        messages = MessageSender(slack, timeout=store.leases.timings.patience)
        directory = UserDirectory(slack, groups=settings.roles.groups)
        rotas = settings.routes.rotas.values()
        people = RotaPeople(slack, (one for rota in rotas for one in rota.people))
        report = ChannelHealth(settings, name=directory.known_name)
        draw = partial(draw_posts, store, several=len(settings.workspaces) > 1, links=links_of(settings))
        routes = Routes(
            alert_channels={name: one.alert_channel for name, one in settings.workspaces.items()},
            routing=settings.routes,
            remind_after=settings.alerts.remind_after,
            people=people,
        )
        poster = Poster(
            store, messages, draw=draw, routes=routes, report=report, before_report=directory.channel_name
        )
        refresher = CardRefresher(
            store,
            contexts,
            soon=account_changed,
            planned=signals.changed,
        )

        def lifecycle_of(directory: UserDirectory) -> Lifecycle:
            return Lifecycle(
                store,
                directory=directory,
                set_channels=set_channels(settings),
                report=report,
                changed=signals.changed,
                lost_token=poster.note_lost_token,
            )

        apps = SlackApps(
            settings=settings,
            contexts=contexts,
            slack=slack,
            lifecycle_of=lifecycle_of,
            alert_changed=signals.changed,
            account_changed=account_changed.set,
            state=lambda: readiness.state(),  # noqa: PLW0108 # it is made further down
            timeouts=timeouts,
        )
        bolt, listeners, socket_mode = apps.open(directory)
        secrets = WebhookSecrets(
            settings,
            WebhookSubscriptions(store.database, cipher),
            now=time.monotonic,
        )
        await secrets.open()
        beat = await stack.enter_async_context(_heartbeat(store))
        readiness = ReadinessProbe(
            store,
            contexts,
            slack,
            poster,
            intake=intake,
            supervisor=supervisor,
            secrets=secrets,
            instance=await store.instance.id(),
            socket_mode=socket_mode,
        )
        bodies = BodyReader()
        web = AsgiApp(
            receiver=WebhookReceiver(intake, bodies=bodies, secrets=secrets, now=store.database.clock),
            slack=_slack_guard(settings, bolt, bodies),
            replies=ReplyPage(store=store, links=links_of(settings), now=store.database.clock),
            default_workspace=settings.default_workspace,
            readiness=readiness.readiness,
            update_gauges=readiness.update_gauges,
            details_apart=settings.details_address is not None,
        )
        scheduler = JobScheduler(supervisor)
        checks = register.domain_checks(store, settings, signals)
        guard = GuardrailWatch(
            store, contexts, planned=signals.changed, permitted=PauseRights(slack, settings.roles)
        )
        register.add_jobs(
            scheduler,
            store,
            contexts,
            histories=histories,
            signals=signals,
            people=people,
            guard=guard,
            checks=checks,
        )
        scheduler.every(BEAT_SECONDS, beat, name="heartbeat")
        scheduler.every(FORGET_SECONDS, secrets.refresh, name="webhook_secrets")
        scheduler.every(CHECK_SECONDS, lifecycle_of(directory).check_channels, name="channels", at_once=True)
        scheduler.every(PROBE_SECONDS, readiness.probe, name="readiness", at_once=True)
        worker = Worker(
            store,
            [
                *register.kinds(
                    store, contexts, planned=signals.changed, people=people, guard=guard, checks=checks
                ),
                *register.slack_kinds(
                    store,
                    poster,
                    PostFinder(store, messages, report=report, before_report=directory.channel_name),
                    Repainter(store, messages, draw=draw, planned=signals.changed),
                ),
            ],
            workspaces=contexts.clients,
            wakeup=signals.jobs,
        )
        tasks = {
            "intake": intake.run,
            "routing": Router(store, signals=signals, routes=routes, stored_count=lambda: intake.count).run,
            "jobs": worker.run,
            "card_refresh": refresher.run,
        }
        for name, run in tasks.items():
            await stack.enter_async_context(supervisor.running(name, run))
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


async def _begin(store: Store, settings: Settings, *, alone: bool) -> None:
    """Put what is due from the start; a bot that is `alone` on its database need not wait for the leases of a dead one."""
    if alone:
        await store.jobs.take_over()
        await store.dead_letters.take_over()
    await store.alerts.note_times(times_of(settings.alerts))
    await store.jobs.keep_going(EVALUATE, settings.workspaces)


@asynccontextmanager
async def _heartbeat(store: Store) -> AsyncIterator[Callable[[], Awaitable[None]]]:
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
    escalated = settings.alerts.escalate_to
    return frozenset(filter(None, (*alerts, *ruled, settings.routes.fallback, escalated)))


def _open_slack(
    settings: Settings, session: aiohttp.ClientSession | None
) -> AbstractAsyncContextManager[WebApi]:
    token, base = settings.slack.bot_token, settings.slack.api_url or ""
    return open_web_api(token.get_secret_value() if token else "", base_url=base, session=session)


def _slack_guard(settings: Settings, bolt: AsyncApp, bodies: BodyReader) -> SlackGuard | None:
    secret = settings.slack.signing_secret
    if secret is None or settings.slack.app_token is not None:
        return None
    handler = AsyncSlackRequestHandler(bolt, path=SLACK)
    return SlackGuard(handler, signing_secret=secret.get_secret_value(), bodies=bodies)
