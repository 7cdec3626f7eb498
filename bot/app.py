"""Composition: settings become ledger, clients, Slack and clock, and one HTTP application before them all.

The order of closing is the reverse of opening: no new requests, then the answers under way, then the messages
under way, then what the intake has taken is committed. Slack and the service may be down at any time, at the
start too; taking deliveries needs the database alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import structlog
import uvicorn
from slack_bolt.adapter.asgi.async_handler import AsyncSlackRequestHandler
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.web.async_client import AsyncWebClient

from bot.alerts.routing import Routes
from bot.commands import command_help
from bot.commands.context import CommandContexts, open_contexts
from bot.commands.dispatch import CommandDispatcher
from bot.commands.open_replies import OpenReplies
from bot.commands.self_test import SelfTest
from bot.delivery.channel_health import ChannelHealth
from bot.delivery.worker import DeliveryWorker
from bot.http import readiness
from bot.http.asgi import SLACK, AsgiApp
from bot.http.slack_guard import SlackGuard
from bot.http.webhook import DeliveryIntake, Receive, Scope, Send, WebhookReceiver
from bot.http.webhook_secrets import WebhookSecrets
from bot.interactions.listeners import Listeners
from bot.interactions.modals import Modals
from bot.jobs import history_sampler, reconcile, register
from bot.jobs.auto_resume import AutoResume
from bot.jobs.card_refresh import CardRefresher
from bot.jobs.history_sampler import HistorySampler
from bot.jobs.reconcile import Reconciler
from bot.jobs.scheduler import TIMER_SECONDS, JobScheduler, Timers
from bot.slack.chart_uploads import ChartUploads
from bot.slack.directory import UserDirectory
from bot.slack.messages import MessageSender
from bot.slack.socket_mode import SocketMode, SocketTimeouts
from bot.store import LeaseTimings, Ledger, open_ledger
from bot.store.db.lock import sole_owner
from bot.store.queue import retention
from bot.telemetry import logs
from shared.settings import Settings
from shared.text.parent_watch import wait_for_parent_exit

GRACE = 3.0
"""Seconds that each stage of the shutdown may take."""
LOOK_SECONDS = 60.0
REVIVE_SECONDS = 60.0
PRUNE_SECONDS = 3600.0
MOST_PORTIONS = 1000
SWITCH_SECONDS = 0.0005
"""How long the event loop may keep a thread waiting that has a commit to begin or to end."""

Application = Callable[[Scope, Receive, Send], Awaitable[None]]

log = structlog.get_logger("bot")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bot:
    """The running parts, for the server and for tests."""

    web: AsgiApp
    ledger: Ledger
    courier: DeliveryWorker
    listeners: Listeners
    intake: DeliveryIntake
    socket_mode: SocketMode | None


@asynccontextmanager
async def open_bot(
    settings: Settings, *, pace: LeaseTimings | None = None, patience: SocketTimeouts | None = None
) -> AsyncIterator[Bot]:
    """Everything but the server, running; closed in order at the end. Raises `RecordsUnavailable`."""
    async with AsyncExitStack() as stack:
        ledger = await stack.enter_async_context(open_ledger(settings.database, pace=pace))
        if stack.enter_context(sole_owner(settings.database)):
            await ledger.inherit()
        contexts = await stack.enter_async_context(open_contexts(settings, ledger))
        client = await stack.enter_async_context(_slack_client(settings))
        histories = await stack.enter_async_context(register.open_histories(contexts))
        surroundings = CardRefresher(ledger, contexts, yesterday=register.Yesterday(histories))
        bot, clockwork = _compose(settings, ledger, contexts, client, surroundings, patience=patience)
        await stack.enter_async_context(_running(bot.intake.run(), name="intake"))
        await stack.enter_async_context(_running(bot.courier.run(), name="courier"))
        await stack.enter_async_context(_running(surroundings.run(), name="surroundings"))
        if bot.socket_mode:
            await stack.enter_async_context(_running(bot.socket_mode.run(), name="socket mode"))
        clockwork.every(history_sampler.EVERY, HistorySampler(contexts, histories).keep, name="remembering")
        clockwork.start()
        stack.push_async_callback(clockwork.aclose)
        yield bot
        await bot.listeners.drain(GRACE)
        await bot.courier.drain(GRACE)


@asynccontextmanager
async def _slack_client(settings: Settings) -> AsyncIterator[AsyncWebClient]:
    slack = settings.slack
    token = slack.bot_token.get_secret_value() if slack.bot_token else ""
    base = slack.api_url or AsyncWebClient.BASE_URL
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30)) as session:
        # The SDK's own handlers would repeat a post after a cut connection, and Slack may have taken the first.
        yield AsyncWebClient(token=token, session=session, base_url=base, retry_handlers=[])


def _compose(
    settings: Settings,
    ledger: Ledger,
    contexts: CommandContexts,
    client: AsyncWebClient,
    surroundings: CardRefresher,
    *,
    patience: SocketTimeouts | None,
) -> tuple[Bot, JobScheduler]:
    several = len(settings.workspaces) > 1
    intake = DeliveryIntake(ledger)
    courier = DeliveryWorker(
        ledger,
        MessageSender(client, timeout=ledger.pace.patience),
        routes=lambda: _routes(settings, ledger),
        report=ChannelHealth(settings),
        stored=lambda: intake.count,
        several=several,
    )
    intake.stored = lambda: courier.wake(news=True)
    surroundings.planned = courier.wake
    pictures = ChartUploads(client)
    people = UserDirectory(client, groups=settings.roles.groups)
    dialogs = Modals(contexts, people, client, changed=courier.wake)
    acts = CommandDispatcher(contexts, people, changed=courier.wake, acted=surroundings.soon)
    acts.own["open"] = OpenReplies(links=dialogs.links)
    acts.pictures = pictures
    listeners = Listeners(acts, people, dialogs)
    socket_mode = _socket_mode(settings, client, listeners, patience=patience)
    acts.own["help"] = command_help.overview
    acts.own["doctor"] = SelfTest(client=client, socket_mode=socket_mode)
    watching = readiness.ReadinessProbe(ledger, contexts, client, courier, socket_mode)
    web = AsgiApp(
        receiver=WebhookReceiver(
            intake, secrets=WebhookSecrets(settings, now=time.monotonic), now=ledger.store.clock
        ),
        slack=_slack_gate(settings, client, listeners),
        default_workspace=settings.default_workspace,
        readiness=watching.readiness,
        measure=watching.measure,
    )
    clockwork = JobScheduler()
    timers = Timers(ledger, {"resume": AutoResume(ledger, contexts, planned=courier.wake)})
    clockwork.every(TIMER_SECONDS, timers.fire, name="timers")
    register.hang(clockwork, ledger, contexts, pictures, planned=courier.wake)
    clockwork.every(LOOK_SECONDS, watching.look, name="watch", at_once=True)
    clockwork.every(REVIVE_SECONDS, ledger.revive, name="revive")
    clockwork.every(PRUNE_SECONDS, lambda: _prune(ledger), name="retention")
    reconciler = Reconciler(ledger, contexts, found=lambda: courier.wake(news=True))
    clockwork.every(reconcile.EVERY, reconciler.look, name="reconcile", at_once=True)
    bot = Bot(
        web=web,
        ledger=ledger,
        courier=courier,
        listeners=listeners,
        intake=intake,
        socket_mode=socket_mode,
    )
    return bot, clockwork


async def _prune(ledger: Ledger) -> None:
    for _portion in range(MOST_PORTIONS):
        if not (await ledger.prune(bodies_after=retention.BODIES, hashes_after=retention.HASHES)).more:
            return
        await asyncio.sleep(0.1)  # the intake goes first


async def _routes(settings: Settings, ledger: Ledger) -> Routes:
    names = list(settings.workspaces)
    return Routes(
        alert_channels={name: settings.workspaces[name].alert_channel for name in names},
        subscriptions={name: await ledger.subscriptions(name, "") for name in names},
        routing=settings.routes,
    )


def _slack_gate(settings: Settings, client: AsyncWebClient, listeners: Listeners) -> SlackGuard | None:
    if settings.slack.signing_secret is None or settings.slack.app_token is not None:
        return None
    secret = settings.slack.signing_secret.get_secret_value()
    app = bolt_app(secret, client)
    listeners.register(app)
    return SlackGuard(AsyncSlackRequestHandler(app, path=SLACK), signing_secret=secret)


def _socket_mode(
    settings: Settings, client: AsyncWebClient, listeners: Listeners, *, patience: SocketTimeouts | None
) -> SocketMode | None:
    """The same listeners, where there is an app token."""
    if settings.slack.app_token is None:
        return None
    app = bolt_app("", client)
    listeners.register(app)
    return SocketMode(app, settings.slack.app_token.get_secret_value(), client, patience=patience)


def bolt_app(signing_secret: str, client: AsyncWebClient) -> AsyncApp:
    """Bolt without a call to Slack before a listener runs: the acknowledgement must not wait for the network."""

    async def authorize(enterprise_id: str | None, team_id: str | None) -> AuthorizeResult:
        return AuthorizeResult(enterprise_id=enterprise_id, team_id=team_id, bot_token=client.token)

    return AsyncApp(signing_secret=signing_secret, client=client, authorize=authorize, logger=logs.BOLT)


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
        self._told = asyncio.Event()

    def stop(self) -> None:
        """Take no more requests, and end when those under way are answered."""
        self.should_exit = True
        self._told.set()

    async def main_loop(self) -> None:
        """Sleep until told, instead of looking ten times a second."""
        await self.on_tick(0)
        await self._told.wait()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


async def serve(settings: Settings, *, pace: LeaseTimings | None = None) -> None:
    """Run until SIGTERM, SIGINT or the parent's end. Raises `RecordsUnavailable`, `OSError` for a taken port."""
    logs.set_up(settings.log_level)
    listener = socket.create_server((settings.host, settings.port), backlog=2048)
    async with AsyncExitStack() as stack:
        stack.callback(listener.close)
        bot = await stack.enter_async_context(open_bot(settings, pace=pace))
        server = Server(server_config(bot.web))
        await stack.enter_async_context(_stopping(server))
        host, port = listener.getsockname()[:2]
        settle_down()
        log.info("listening", url=f"http://{host}:{port}", workspaces=list(settings.workspaces))
        await server.serve(sockets=[listener])
    log.info("stopped")


def settle_down() -> None:
    """What stays until the end is no business of the garbage collector's, and commits get the interpreter soon."""
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(SWITCH_SECONDS)


def server_config(web: Application) -> uvicorn.Config:
    """HTTP without anything that is not needed, and with a bound on how long a shutdown waits."""
    return uvicorn.Config(
        web,
        loop="none",
        http="httptools",
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
    async with _running(with_parent(), name="lifeline"):
        yield


def run(settings: Settings, *, pace: LeaseTimings | None = None) -> int:
    """`serve` on uvloop; the process's exit code."""
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(settings, pace=pace))
    return 0
