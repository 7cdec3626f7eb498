"""Composition: settings become store, clients, Slack and clock, and one HTTP application before them all.

The order of closing is the reverse of opening: no new requests, then the answers under way, then the messages
under way, then what the intake has taken is committed. Slack and the service may be down at any time, at the
start too; taking deliveries needs the database alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from secrets import token_hex
from typing import Any

import structlog
import uvicorn
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
from bot.http.asgi import SLACK, Application, AsgiApp, RequestGate, unavailable
from bot.http.bounded_protocol import BoundedProtocol
from bot.http.readiness import ReadinessProbe
from bot.http.slack_guard import SlackGuard
from bot.http.webhook import BodyReader, DeliveryIntake, WebhookReceiver
from bot.http.webhook_secrets import WebhookSecrets
from bot.interactions.listeners import Listeners
from bot.interactions.modals import Modals
from bot.jobs import register
from bot.jobs.card_refresh import CardRefresher
from bot.jobs.scheduler import JobScheduler
from bot.runtime.supervisor import Supervisor
from bot.runtime.wakeup import DeliverySignals, Wakeup
from bot.slack.chart_uploads import ChartUploads
from bot.slack.directory import UserDirectory
from bot.slack.messages import MessageSender
from bot.slack.socket_mode import SocketMode, SocketTimeouts
from bot.slack.web_api import SlackError, WebApi, open_web_api
from bot.store import LeaseTimings, Store, open_store
from bot.store.db.engine import unreachable
from bot.store.db.lock import sole_owner
from bot.store.instance import BEAT_SECONDS
from bot.store.webhooks import SecretCipher, WebhookSubscriptions
from bot.telemetry import logs
from shared.api.errors import OutreachError
from shared.domain.records import RecordsUnavailable
from shared.settings import Settings, SettingsError
from shared.text.parent_watch import wait_for_parent_exit

GRACE = 3.0
"""Seconds that each stage of the shutdown may take."""
PROBE_SECONDS = 60.0
RELOAD_SECONDS = 10.0
"""How long requests under way may hold up a reload of the settings."""
NOT_RELOADED = ("host", "port", "database", "log_level")
DATABASE_RETRY_SECONDS = 1.0
SWITCH_SECONDS = 0.0005
"""How long the event loop may keep a thread waiting that has a commit to begin or to end."""

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
        draw = partial(draw_posts, store, several=len(settings.workspaces) > 1)
        repainter = Repainter(store, messages, draw=draw, wakeup=signals.repaints)
        worker = DeliveryWorker(
            store,
            messages,
            signals=signals,
            draw=draw,
            routes=Routes(
                alert_channels={name: one.alert_channel for name, one in settings.workspaces.items()},
                routing=settings.routes,
            ),
            stored_count=lambda: intake.count,
            report=ChannelHealth(settings),
        )
        refresher = CardRefresher(
            store,
            contexts,
            yesterday=register.Yesterday(histories),
            soon=account_changed,
            planned=signals.changed,
        )
        bolt = bolt_app(settings, slack)
        socket_mode = _socket_mode(settings, bolt, slack, timeouts=timeouts)
        charts = ChartUploads(slack)
        listeners = _listeners(
            contexts,
            slack,
            charts,
            socket_mode,
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
        register.add_jobs(scheduler, store, contexts, charts, histories=histories, signals=signals)
        scheduler.every(BEAT_SECONDS, beat, name="heartbeat")
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


def _open_slack(settings: Settings) -> AbstractAsyncContextManager[WebApi]:
    token = settings.slack.bot_token
    return open_web_api(token.get_secret_value() if token else "", base_url=settings.slack.api_url or "")


def _listeners(
    contexts: CommandContexts,
    slack: WebApi,
    charts: ChartUploads,
    socket_mode: SocketMode | None,
    *,
    alert_changed: Callable[[], None],
    account_changed: Callable[[], None],
) -> Listeners:
    directory = UserDirectory(slack, groups=contexts.settings.roles.groups)
    modals = Modals(contexts, directory, slack, changed=alert_changed)
    dispatcher = CommandDispatcher(
        contexts,
        directory,
        charts=charts,
        bot_commands={
            "help": command_help.overview,
            "open": OpenReplies(links=modals.links),
            "doctor": SelfTest(slack=slack, socket_mode=socket_mode),
        },
        alert_changed=alert_changed,
        account_changed=account_changed,
    )
    return Listeners(dispatcher, directory, modals, slack)


def bolt_app(settings: Settings, slack: WebApi) -> AsyncApp:
    """Bolt without a call to Slack before a listener runs: the acknowledgement must not wait for the network."""

    async def authorize(enterprise_id: str | None, team_id: str | None) -> AuthorizeResult:
        return AuthorizeResult(enterprise_id=enterprise_id, team_id=team_id, bot_token=slack.client.token)

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


@asynccontextmanager
async def _running(work: Any, *, name: str) -> AsyncIterator[None]:
    task = asyncio.create_task(work, name=name)
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


class Server(uvicorn.Server):
    """Signals are ours: uvicorn would raise them again after its own shutdown, and the exit code would be theirs."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._stopped = asyncio.Event()

    def stop(self) -> None:
        self.should_exit = True
        self._stopped.set()

    async def main_loop(self) -> None:
        """Sleep until told, instead of looking ten times a second."""
        await self.on_tick(0)
        await self._stopped.wait()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


async def serve(
    settings: Settings, *, pace: LeaseTimings | None = None, load: Callable[[], Settings] | None = None
) -> None:
    """Run until SIGTERM, SIGINT or the parent's end; SIGHUP has the settings read again by `load`.

    Raises `RecordsUnavailable`, `OSError` for a taken port.
    """
    logs.set_up(settings.log_level)
    listener = socket.create_server((settings.host, settings.port), backlog=2048)
    async with AsyncExitStack() as stack:
        stack.callback(listener.close)
        if not await _wait_for_database(settings, listener):
            return
        gate, reload_asked = RequestGate(), asyncio.Event()
        server = Server(server_config(gate))
        await stack.enter_async_context(_stopping(server))
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload_asked.set)
        serving: asyncio.Task[None] | None = None
        while serving is None or not serving.done():
            async with open_bot(settings, pace=pace) as bot:
                gate.open(bot.web)
                tune_runtime()
                if serving is None:
                    serving = asyncio.create_task(server.serve(sockets=[listener]), name="server")
                    host, port = listener.getsockname()[:2]
                    log.info("listening", url=f"http://{host}:{port}", workspaces=list(settings.workspaces))
                if changed := await _changed_settings(settings, load, asked=reload_asked, serving=serving):
                    await gate.close(RELOAD_SECONDS)
            if changed and not serving.done():
                gc.unfreeze()
                settings = await _when_reachable(changed, gate, serving)
                log.info("settings reloaded", workspaces=list(settings.workspaces))
        await serving
    log.info("stopped")


async def _changed_settings(
    settings: Settings,
    load: Callable[[], Settings] | None,
    *,
    asked: asyncio.Event,
    serving: asyncio.Task[None],
) -> Settings | None:
    """Wait for a reload that can be carried out, and return its settings; None: the server has ended."""
    while True:
        waiting = asyncio.create_task(asked.wait())
        await asyncio.wait([serving, waiting], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if serving.done():
            return None
        asked.clear()
        if load is None:
            continue
        try:
            changed = await asyncio.to_thread(load)
        except SettingsError as error:
            log.warning("settings not reloaded", error=str(error))
            continue
        fixed = [name for name in NOT_RELOADED if getattr(changed, name) != getattr(settings, name)]
        if not fixed:
            return changed
        log.warning("settings not reloaded: a restart is needed", changed=fixed)


async def _when_reachable(settings: Settings, gate: RequestGate, serving: asyncio.Task[None]) -> Settings:
    """The settings, once their database can be opened; meanwhile requests are answered 503."""
    while not serving.done() and (reason := await asyncio.to_thread(unreachable, settings.database)):
        gate.open(unavailable)
        log.warning("waiting for the database", error=reason)
        await asyncio.wait([serving], timeout=DATABASE_RETRY_SECONDS)
    return settings


async def _wait_for_database(settings: Settings, listener: socket.socket) -> bool:
    """Answer 503 until PostgreSQL can be reached; False when the bot is stopped before."""
    if settings.database.get_backend_name() == "sqlite" or not await asyncio.to_thread(
        unreachable, settings.database
    ):
        return True
    server = Server(server_config(unavailable))
    async with _stopping(server):
        serving = asyncio.create_task(server.serve(sockets=[listener.dup()]))
        while reason := await asyncio.to_thread(unreachable, settings.database):
            log.warning("waiting for the database", error=reason)
            await asyncio.wait([serving], timeout=DATABASE_RETRY_SECONDS)
            if serving.done():
                return False
        server.stop()
        await serving
    return True


def tune_runtime() -> None:
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(SWITCH_SECONDS)


def server_config(web: Application) -> uvicorn.Config:
    """HTTP without anything that is not needed, and with a bound on how long a shutdown waits."""
    return uvicorn.Config(
        web,
        loop="none",
        http=BoundedProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=int(GRACE),
    )


@asynccontextmanager
async def _stopping(
    server: Server, signals: Sequence[signal.Signals] = (signal.SIGTERM, signal.SIGINT)
) -> AsyncIterator[None]:
    async def with_parent() -> None:
        await wait_for_parent_exit()
        server.stop()

    loop = asyncio.get_running_loop()
    for number in signals:
        loop.add_signal_handler(number, server.stop)
    async with _running(with_parent(), name="parent"):
        yield


def run(
    settings: Settings, *, pace: LeaseTimings | None = None, load: Callable[[], Settings] | None = None
) -> int:
    """`serve` on uvloop; the process's exit code."""
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(settings, pace=pace, load=load))
    return 0
