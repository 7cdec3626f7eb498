"""The bot's process: HTTP server, signals, reloads, shutdown, and waiting for the database."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import resource
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager

import structlog
import uvicorn

from bot.app import Bot, open_bot
from bot.http.asgi import Application, CurrentApplication, unavailable
from bot.telemetry import logs, metrics
from shared.api.version import VERSION
from shared.build import read_commit
from shared.records import RecordsUnavailable
from shared.settings import Settings, SettingsError
from shared.storage.allocator import give_memory_back
from shared.storage.database import DATABASE_FIX
from shared.store.db import migrate
from shared.store.db.engine import DatabaseReplaced, unreachable
from shared.text.parent_watch import wait_for_parent_exit
from shared.text.systemd_notify import systemd_notified

SHUTDOWN_SECONDS = 3
"""The time for which requests under way may hold up the shutdown."""
KEEP_ALIVE_SECONDS = 75
"""The time for which a connection may be idle: longer than with proxies, so that no request meets one being closed.

nginx keeps them for 60 s (https://nginx.org/en/docs/http/ngx_http_upstream_module.html#keepalive_timeout).
"""
MAX_CONNECTIONS = 1_000
RESERVED_FILES = 100
"""Open files that are left to the database, Slack and the log."""
RELOAD_SECONDS = 10.0
"""The time for which requests under way may hold up a reload of the settings."""
NOT_RELOADED = ("host", "port", "metrics_listen", "database", "log_level")
DATABASE_RETRY_SECONDS, LONGEST_DATABASE_RETRY = 1.0, 30.0
"""Seconds between tries to reach the database: at first, and at most."""
SWITCH_SECONDS = 0.0005
"""The time for which the event loop may keep a thread waiting that has a commit to begin or to end."""

REPLACED = (
    "The file of the bot's database was deleted or replaced while the bot ran. Only the old file has the alerts that "
    "weren't posted yet, the claims, the subscriptions and the timed pauses: run `outreach database restore FILE` "
    "with your last backup, then start the bot again."
)

log = structlog.get_logger("bot")


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
        yield


async def serve(settings: Settings, *, load: Callable[[], Settings]) -> None:
    """Run until SIGTERM, SIGINT or the parent's end; SIGHUP has the settings read again by `load`.

    Raises `RecordsUnavailable`, also when the database's file is deleted or replaced while the bot runs: nothing is
    accepted from then on, because what is written would be in no file that anyone reads. `OSError` for a taken port.
    """
    logs.set_up(settings.log_level)
    commit = await asyncio.to_thread(read_commit)
    metrics.BUILD.labels(VERSION, commit, migrate.HEAD).set(1)
    # A taken port is told before the database is touched.
    listener = socket.create_server((settings.host, settings.port), backlog=2048)
    async with AsyncExitStack() as stack:
        stack.callback(listener.close)
        await stack.enter_async_context(systemd_notified())
        current, reload_asked = CurrentApplication(), asyncio.Event()
        server = Server(server_config(current))
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, server.stop)
        loop.add_signal_handler(signal.SIGHUP, reload_asked.set)
        # It ends with the event loop at the latest.
        parent = asyncio.create_task(wait_for_parent_exit(), name="parent")
        parent.add_done_callback(lambda _: server.stop())
        await stack.enter_async_context(_details_served(settings, current))
        tune_runtime()
        serving = await stack.enter_async_context(_serving(server, listener))
        is_first, replaced = True, False
        while not serving.done():
            async with AsyncExitStack() as opened:
                bot = await _open(opened, settings, current, serving, is_first=is_first)
                if bot is None:
                    break
                current.open(bot.web)
                if is_first:
                    host, port = listener.getsockname()[:2]
                    log.info("listening", url=f"http://{host}:{port}", workspaces=list(settings.workspaces))
                is_first, gone = False, bot.store.database.replaced
                changed = await _changed_settings(
                    settings, load, asked=reload_asked, gone=gone, serving=serving
                )
                if changed:
                    await current.close(RELOAD_SECONDS)
                if replaced := gone.is_set():
                    server.stop()
                    await serving
            if changed and not serving.done():
                gc.collect()  # what the bot before has left
                settings = changed
                log.info("settings reloaded", workspaces=list(settings.workspaces))
        await serving
    if replaced:
        raise DatabaseReplaced(REPLACED)
    log.info("stopped")


@asynccontextmanager
async def _serving(server: Server, listener: socket.socket) -> AsyncIterator[asyncio.Task[None]]:
    """Serve meanwhile; stopped and waited for in the end."""
    task = asyncio.create_task(server.serve(sockets=[listener]), name="server")
    try:
        yield task
    finally:
        server.stop()
        await task


@asynccontextmanager
async def _details_served(settings: Settings, current: CurrentApplication) -> AsyncIterator[None]:
    """Serve metrics and the detailed /readyz on their own address, if there is one. Raises `OSError` for a taken port."""
    address = settings.details_address
    if address is None:
        yield
        return
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    with socket.create_server(address, family=family) as listener:
        log.info("metrics and details of readiness are served", url=settings.details_url)
        async with _serving(Server(server_config(current.details)), listener):
            yield


async def _open(
    stack: AsyncExitStack,
    settings: Settings,
    current: CurrentApplication,
    serving: asyncio.Task[None],
    *,
    is_first: bool,
) -> Bot | None:
    """The bot; None when the server ended before it could be opened.

    While its database can't be used, it is tried again after 1 s, 2 s … 30 s, and requests get 503; each reason is
    logged once, with what to do. At the start only a PostgreSQL that can't be reached is waited for: anything else is
    for whoever starts the bot.
    """
    pause, logged = DATABASE_RETRY_SECONDS, ""
    while not serving.done():
        try:
            return await stack.enter_async_context(open_bot(settings))
        except RecordsUnavailable as error:
            reason = await asyncio.to_thread(unreachable, settings.database)
            if is_first and (not reason or settings.database.get_backend_name() == "sqlite"):
                raise
            reason = reason or str(error)
        # A 503 has the service send a delivery again; silence would cost it its whole timeout.
        current.open(unavailable)
        if reason != logged:
            log.warning("waiting for the database", error=reason, fix=DATABASE_FIX)
            logged = reason
        await asyncio.wait([serving], timeout=pause)
        pause = min(2 * pause, LONGEST_DATABASE_RETRY)
    return None


async def _changed_settings(
    settings: Settings,
    load: Callable[[], Settings],
    *,
    asked: asyncio.Event,
    gone: asyncio.Event,
    serving: asyncio.Task[None],
) -> Settings | None:
    """Wait for a reload that can be carried out, and return its settings; None: the server or its database ended."""
    while True:
        waiting = [asyncio.create_task(event.wait()) for event in (asked, gone)]
        await asyncio.wait([serving, *waiting], return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        if serving.done() or gone.is_set():
            return None
        asked.clear()
        try:
            changed = await asyncio.to_thread(load)
        except SettingsError as error:
            log.warning("settings not reloaded", error=str(error))
            continue
        # These were used up when the process started.
        fixed = [name for name in NOT_RELOADED if getattr(changed, name) != getattr(settings, name)]
        if not fixed:
            return changed
        log.warning("settings not reloaded: a restart is needed", changed=fixed)


def tune_runtime() -> None:
    """Keep the objects of all modules out of garbage collections, which would block the loop for a tenth of a second.

    And keep little memory that is free.

    Only these: a bot that was frozen would stay in memory after a reload, with all that it has come to know.
    """
    give_memory_back()
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(SWITCH_SECONDS)


def max_connections() -> int:
    """The number of connections above which a request gets 503: as many as the limit of open files allows.

    The bot stands behind a proxy, which is where slow and oversized senders are cut off.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return min(MAX_CONNECTIONS, max(soft // 2, soft - RESERVED_FILES))


def server_config(web: Application) -> uvicorn.Config:
    """HTTP without anything that is not needed, and with a bound on how long a shutdown waits."""
    return uvicorn.Config(
        web,
        loop="none",
        http="httptools",
        interface="asgi3",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        limit_concurrency=max_connections(),
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )


def run(settings: Settings, *, load: Callable[[], Settings]) -> int:
    """Run `serve` until it ends; the process's exit code."""
    asyncio.run(serve(settings, load=load))
    return 0
