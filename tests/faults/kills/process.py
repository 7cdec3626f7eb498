"""A bot's process that ends by SIGKILL at its n-th commit or request. Nothing in the bot knows of it."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import AsyncIterator, Awaitable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import aiohttp
import httpx
import sqlalchemy as sa
from sqlalchemy.engine.default import DefaultDialect

from bot import app, worker
from bot.jobs import due
from bot.server import run
from shared.commands import hold as pauses
from shared.settings import load
from shared.store import open_store, sequences
from tests.kit.team import HASTE

Moment = Literal["before commit", "after commit", "before request", "under request", "after answer"]
MOMENTS: tuple[Moment, ...] = (
    "before commit",
    "after commit",
    "before request",
    "under request",
    "after answer",
)
KILLED = "killed"
"""The file of the note where a process was killed."""
UNDER_WAY = 0.002
"""Seconds after its begin at which a request is under way: most are answered later than that."""


@dataclass(frozen=True, slots=True)
class Kill:
    """The `number`-th such moment in the life of a process; with `of`, of those whose statement or request has these words."""

    moment: Moment
    number: int
    of: str = ""


@contextlib.asynccontextmanager
async def running_bot(
    environ: Mapping[str, str], kill: Kill | None, notes: Path
) -> AsyncIterator[asyncio.Event]:
    """A process of its own that ends with the block, forked from one that has imported the program already.

    The event is set when it has died before. The folder `notes` tells where it was killed.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["pytest", "bot.server", __name__])
    process = context.Process(target=_run_bot, args=(dict(environ), kill, notes))
    process.start()
    loop, died = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(process.sentinel, died.set)
    try:
        yield died
    finally:
        loop.remove_reader(process.sentinel)
        process.kill()
        process.join()
        process.close()


def _run_bot(environ: Mapping[str, str], kill: Kill | None, notes: Path) -> None:
    os.environ.clear()
    os.environ.update(environ)
    _hurry()
    killer = _Killer(kill, notes / KILLED)
    _watch_commits(killer)
    _watch_requests(killer)
    run(load(), load=load)


def _hurry() -> None:
    """What would wait for a dead process for 15 s or a minute waits for 2 or 3 s."""
    for module, name, seconds in (
        (worker, "POLL_SECONDS", 0.2),
        (due, "RETRY_SECONDS", 2.0),
        (sequences, "LATE_EVERY", 0.5),
        (sequences, "LOCK_SECONDS", 2.0),
        (pauses, "LOCK_SECONDS", 2.0),
    ):
        assert hasattr(module, name)
        setattr(module, name, seconds)
    vars(app)["open_store"] = partial(open_store, timings=HASTE)


class _Killer:
    def __init__(self, kill: Kill | None, note: Path) -> None:
        self._kill, self._note = kill, note
        self._count, self._lock = 0, threading.Lock()

    def reached(self, moment: Moment, what: str) -> bool:
        """Count one; whether it is the one to die at."""
        if self._kill is None or moment != self._kill.moment or self._kill.of not in what:
            return False
        with self._lock:
            self._count += 1
            if self._count != self._kill.number:
                return False
        self._note.write_text(" ".join(what.split())[:120])
        return True

    def passed(self, moment: Moment, what: str) -> None:
        if self.reached(moment, what):
            die()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _watch_commits(killer: _Killer) -> None:
    """Those that change something; a single statement that is its own transaction counts as one."""
    here = threading.local()

    @sa.event.listens_for(sa.Engine, "begin")
    def begin(_connection: sa.Connection) -> None:
        here.changes = ""

    @sa.event.listens_for(sa.Engine, "before_cursor_execute")
    def before_statement(connection: sa.Connection, _cursor: Any, sql: str, *_: Any) -> None:
        if _commits_itself(connection):
            killer.passed("before commit", sql)

    @sa.event.listens_for(sa.Engine, "after_cursor_execute")
    def after_statement(
        connection: sa.Connection, cursor: Any, sql: str, _values: Any, context: Any, *_: Any
    ) -> None:
        changes = context.isinsert or context.isupdate or context.isdelete or _commits_itself(connection)
        if changes and cursor.rowcount:
            here.changes = sql

    @sa.event.listens_for(sa.Engine, "commit")
    def before_commit(connection: sa.Connection) -> None:
        if here.changes and not _commits_itself(connection):
            killer.passed("before commit", here.changes)

    commit: Any = DefaultDialect.do_commit

    def do_commit(self: DefaultDialect, connection: Any) -> None:
        commit(self, connection)
        if sql := getattr(here, "changes", ""):
            here.changes = ""
            killer.passed("after commit", sql)

    DefaultDialect.do_commit = do_commit  # type: ignore[method-assign]


def _commits_itself(connection: sa.Connection) -> bool:
    options = connection.get_execution_options()
    return bool(options.get("autocommit")) or options.get("isolation_level") == "AUTOCOMMIT"


def _watch_requests(killer: _Killer) -> None:
    """Those to Slack and to the service."""

    async def watched(what: str, send: Awaitable[Any]) -> Any:
        killer.passed("before request", what)
        if killer.reached("under request", what):
            asyncio.get_running_loop().call_later(UNDER_WAY, die)
        answer = await send
        killer.passed("after answer", what)
        return answer

    to_slack: Any = aiohttp.ClientSession._request
    to_service: Any = httpx.AsyncClient.send

    async def request(self: aiohttp.ClientSession, method: str, url: Any, **more: Any) -> Any:
        return await watched(f"{method} {url}", to_slack(self, method, url, **more))

    async def send(self: httpx.AsyncClient, outgoing: httpx.Request, **more: Any) -> Any:
        return await watched(f"{outgoing.method} {outgoing.url}", to_service(self, outgoing, **more))

    for client, name, patched in (
        (aiohttp.ClientSession, "_request", request),
        (httpx.AsyncClient, "send", send),
    ):
        setattr(client, name, patched)
