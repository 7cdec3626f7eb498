"""Builds the bot from its settings: store, clients, Slack, clock, and one HTTP application in front of them.

Closes in reverse order: no new requests, then finishes answers and messages in progress, then commits accepted
deliveries. Slack and the service may be down at any time, also at the start: the intake needs only the database.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from secrets import token_hex

import structlog

from bot.commands.context import open_contexts
from bot.core import Core
from bot.delivery import Router
from bot.guardrails import SAMPLED_EVERY, Guardrails
from bot.http.asgi import AsgiApp, ReplyPage, SlackRequests
from bot.http.readiness import ReadinessProbe
from bot.http.webhook import FORGET_SECONDS, BodyReader, DeliveryIntake, WebhookReceiver, WebhookSecrets
from bot.interactions.gate import CHECK_SECONDS
from bot.interactions.listeners import Listeners, bolt_app
from bot.jobs import due, polls
from bot.jobs.due import times_of
from bot.jobs.polls import Reconciler
from bot.jobs.standings import CardRefresher, DomainChecks
from bot.runtime import DeliverySignals, Supervisor
from bot.slack.directory import ROTA_SECONDS
from bot.slack.socket_mode import SocketMode
from bot.slack.web_api import SlackError, open_web_api
from bot.worker import JobScheduler, Kind, Worker
from shared.api.errors import OutreachError
from shared.domain.wall_clock import DAY
from shared.frozen import frozen
from shared.history.history import History
from shared.records import RecordsUnavailable
from shared.settings import Settings
from shared.store import Store, open_store
from shared.store.db.engine import sole_owner
from shared.store.facts import BEAT_SECONDS
from shared.store.webhooks import SecretCipher, WebhookSubscriptions

GRACE = 3.0
"""Seconds that each stage of the shutdown may take."""
PROBE_SECONDS = 60.0
REVIVE_SECONDS = 60.0
PRUNE_SECONDS = 3600.0
MOST_PORTIONS = 1000

log = structlog.get_logger("bot")


@frozen
class Bot:
    """The running parts, for the server and for tests."""

    web: AsgiApp
    store: Store
    signals: DeliverySignals


@asynccontextmanager
async def open_bot(settings: Settings) -> AsyncIterator[Bot]:
    """Everything but the server, running; closed in order at the end. Raises `RecordsUnavailable`."""
    async with AsyncExitStack() as stack:
        # What is opened later is closed earlier: the store outlives everything that writes to it.
        store = await stack.enter_async_context(open_store(settings.database))
        await _begin(store, settings, alone=stack.enter_context(sole_owner(settings.database)))
        supervisor = Supervisor(expected=(OutreachError, RecordsUnavailable, SlackError))
        contexts = await stack.enter_async_context(
            open_contexts(settings, store, problems=supervisor.problems)
        )
        slack = await stack.enter_async_context(open_web_api(settings.slack))
        core = Core(contexts, slack, supervisor)
        intake = DeliveryIntake(store, stored=core.signals.stored)
        subscriptions = WebhookSubscriptions(store.database, SecretCipher(settings.secret_keys))
        secrets = WebhookSecrets(settings, subscriptions)
        await secrets.open()
        readiness = ReadinessProbe(core, intake, secrets, instance=await store.instance.id())
        listeners = Listeners(core, self_test=readiness.self_test)
        bolt = bolt_app(listeners, slack)
        scheduler, worker = await _build_jobs(stack, core)
        scheduler.every(FORGET_SECONDS, secrets.refresh, name="webhook_secrets")
        scheduler.every(PROBE_SECONDS, readiness.probe, name="readiness", at_once=True)
        scheduler.every(CHECK_SECONDS, listeners.gate.check_channels, name="channels", at_once=True)
        router = Router(store, signals=core.signals, routes=core.routes, stored_count=lambda: intake.count)
        tasks = {
            "intake": intake.run,
            "routing": router.run,
            "jobs": worker.run,
            "card_refresh": CardRefresher(core).run,
            "schedule": scheduler.run,
        }
        clock, bodies, receives = store.database.clock, BodyReader(), None
        if (app_token := settings.slack.app_token) is not None:
            # The connection needs the listeners, and they ask the probe how the connection is.
            connection = SocketMode(bolt, app_token.get_secret_value(), slack)
            readiness.socket_mode, tasks["socket_mode"] = connection, connection.run
        elif secret := settings.slack.signing_secret:
            receives = SlackRequests(bolt, signing_secret=secret.get_secret_value(), bodies=bodies)
        web = AsgiApp(
            receiver=WebhookReceiver(intake=intake, bodies=bodies, secrets=secrets, now=clock),
            slack=receives,
            replies=ReplyPage(store=store, cards=contexts.cards, now=clock),
            default_workspace=settings.default_workspace,
            probe=readiness,
            details_apart=settings.details_address is not None,
        )
        for name, run in tasks.items():
            await stack.enter_async_context(supervisor.running(name, run))
        yield Bot(web=web, store=store, signals=core.signals)
        # Answers first: what they put into the queue, the worker may still post.
        await listeners.drain(GRACE)
        await worker.drain(GRACE)


async def _build_jobs(stack: AsyncExitStack, core: Core) -> tuple[JobScheduler, Worker]:
    """Build what ticks, and the worker for what is due."""
    store, settings = core.store, core.settings
    # The history that the dashboard shows. The thresholds are the same for every workspace.
    thresholds = settings.workspace().thresholds
    history = await stack.enter_async_context(History(settings.history_database, thresholds=thresholds))
    beat = await stack.enter_async_context(_heartbeat(store))
    checks = DomainChecks(core) if settings.dns.enabled else None
    guard, reconciler = Guardrails(core, checks.watch if checks else None), Reconciler(core)
    kinds = due.kinds(core, guard)
    if checks:
        kinds.append(Kind(name="domain", one=checks.check, parallel=1, renewed=True))
    scheduler = JobScheduler(core.supervisor)
    every = scheduler.every
    if settings.routes.rotas:
        every(ROTA_SECONDS, core.directory.read_rota, name="rota people", at_once=True)
    every(polls.RECONCILED_EVERY, reconciler.reconcile, name="reconcile", at_once=True)
    every(polls.HISTORY_EVERY, partial(polls.keep_history, core.contexts.clients, history), name="history")
    every(SAMPLED_EVERY, guard.sample, name="guardrail counts", at_once=True)
    every(REVIVE_SECONDS, store.posting.revive, name="revive")
    every(PRUNE_SECONDS, partial(_prune, store, settings), name="retention")
    every(BEAT_SECONDS, beat, name="heartbeat")
    return scheduler, Worker(store, kinds, workspaces=settings.workspaces, wakeup=core.signals.jobs)


async def _prune(store: Store, settings: Settings) -> None:
    kept = settings.retention
    bodies, records = kept.texts_days * DAY, kept.records_days * DAY
    if count := await store.jobs.forget_orphans(settings.workspaces):
        log.warning("deleted timed pauses of workspaces that are no longer in the settings", count=count)
    for _portion in range(MOST_PORTIONS):
        if not await store.retention.prune(bodies_after=bodies, hashes_after=records):
            return
        await asyncio.sleep(0.1)  # the intake goes first


async def _begin(store: Store, settings: Settings, *, alone: bool) -> None:
    """Put what is due from the start; a bot that is `alone` on its database need not wait for the leases of a dead one."""
    if alone:
        await store.jobs.take_over()
        await store.posting.try_given_up()
    await store.alerts.note_times(times_of(settings.alerts))
    await store.jobs.keep_going("evaluate", settings.workspaces)


@asynccontextmanager
async def _heartbeat(store: Store) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    process = f"{os.getpid()}-{token_hex(4)}"
    await store.instance.beat(process)
    try:
        yield partial(store.instance.beat, process)
    finally:
        with contextlib.suppress(RecordsUnavailable, TimeoutError):
            async with asyncio.timeout(GRACE):
                await store.instance.leave(process)
