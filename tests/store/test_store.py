"""The store alone, on both engines, by a clock that the test holds."""

from __future__ import annotations

import asyncio
import stat
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.config import Config
from alembic.script import ScriptDirectory

from bot.delivery.routing import Routes
from shared.storage.database import parse_url
from shared.store import Store, erasure, jobs, open_store
from shared.store.db import migrate, schema
from shared.store.db.engine import SteadyClock
from shared.store.db.schema import posts
from shared.store.deliveries import Arrival
from shared.store.messages import PlannedPost, Sent
from tests.bot.due import claim_turns
from tests.bot.harness import interested
from tests.bot.manual_clock import ManualClock, arrive, routes


def test_the_newest_migration_is_the_one_that_the_start_looks_for() -> None:
    config = Config()
    config.set_main_option("script_location", str(migrate.SCRIPTS))
    config.set_main_option("path_separator", "os")
    assert ScriptDirectory.from_config(config).get_heads() == [migrate.HEAD]


async def test_several_openings_at_once_migrate_once(empty: sa.URL) -> None:
    async with AsyncExitStack() as stack:
        # Without a lock, two that start together would both run the first migration.
        opened = await asyncio.gather(*(stack.enter_async_context(open_store(empty)) for _ in range(3)))
        for one in opened:
            await one.arrivals.check()


async def test_the_database_is_for_its_owner_alone(tmp_path: Path) -> None:
    async with open_store(parse_url(f"sqlite:///{tmp_path}/bot.db")) as store:
        await arrive(store, interested(1))
        # While it is open: the -wal and -shm files beside it hold the same rows.
        modes = modes_in(tmp_path)
    assert set(modes.values()) == {0o600}, modes


def modes_in(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


async def test_processes_that_look_at_the_same_deliveries_at_once_count_every_arrival_once(
    store: Store,
) -> None:
    batch = [Arrival(workspace="default", body=interested(n), at=1.0) for n in range(60)]
    # In both orders, so that processes differ in which arrivals they meet first.
    groups = [batch if number % 2 else batch[::-1] for number in range(12)]
    await asyncio.gather(*(store.arrivals.append(group) for group in groups))

    async def look() -> int:
        text = 0
        while news := await store.deliveries.route(routes().decide, limit=25):
            text += sum(pending.is_new for pending, _ in news)
        return text

    assert sum(await asyncio.gather(*(look() for _ in range(4)))) == 60

    seen = await store.database.read(lambda tx: tx.scalars(sa.select(schema.deliveries.c.seen)).all())
    assert [*seen] == [12] * 60


def test_the_steady_clock_never_goes_back_and_follows_forwards() -> None:
    # The clock is set back from 101 to 50: time stands still for one reading, and then goes on.
    wall = iter([100.0, 101.0, 50.0, 52.0, 90.0])
    steady = SteadyClock(lambda: next(wall))
    assert [steady() for _ in range(4)] == [101.0, 101.0, 103.0, 141.0]


async def test_a_job_of_an_unknown_kind_is_reported(store: Store, clock: ManualClock) -> None:
    # As a newer version leaves it to an older one: it waits for the newer one.
    await store.database.write(lambda tx: jobs.put(tx, "brew", "tea", at=clock.now, how="keep"))
    assert await store.jobs.unknown_kinds() == ["brew"]


async def test_reminders_and_notes_are_deleted_with_the_words_and_what_is_unsent_waits(
    store: Store, clock: ManualClock
) -> None:
    for number, kind in enumerate(("escalation", "note", "digest", "alert")):
        post = PlannedPost(dedupe=f"p{number}", channel="C1", kind=kind, note="Ada wrote: call me")
        await store.outbox.plan("default", post)
    await store.database.write(lambda tx: tx.execute(sa.update(posts).values(state="sent")))
    await store.outbox.plan("default", PlannedPost(dedupe="waits", channel="C1", kind="note"))

    async def left() -> list[str]:
        return list(await store.database.read(lambda tx: tx.scalars(sa.select(posts.c.dedupe)).all()))

    clock.now += 100
    await store.retention.prune(bodies_after=50, hashes_after=1_000)
    assert await left() == ["p3", "waits"]


async def test_retention_goes_on_while_any_table_has_a_whole_portion_left(
    store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasure, "PRUNED_AT_ONCE", 3)
    await arrive(store, *(interested(number) for number in range(4)), by=Routes(alert_channels={}))
    clock.now += 100
    # Four rows in portions of three: the first call has to say that there is more.
    assert await store.retention.prune(bodies_after=50, hashes_after=50)
    assert not await store.retention.prune(bodies_after=50, hashes_after=50)


async def test_bodies_are_pruned_before_hashes_and_unsent_alerts_keep_both(
    store: Store, clock: ManualClock
) -> None:
    await arrive(store, interested(1), b"no json")
    (turn,) = await claim_turns(store, limit=5)
    await store.posting.settle(turn, Sent(ts="1"))
    await arrive(store, interested(2))
    clock.now += 100
    await store.retention.prune(bodies_after=50, hashes_after=1_000)
    kept = await store.alerts.find(turn.posts[0].alert_id)
    assert kept is not None
    assert kept.is_pruned
    # It is repeated after its text was deleted: without the hash it would be a new alert.
    await arrive(store, interested(1))
    (waiting,) = (await claim_turns(store, limit=5))[0].posts
    assert waiting.alert is not None
    assert not waiting.alert.is_pruned
    assert waiting.alert.email == "ada2@acme.example", (
        "the hash still knew the first, and this is not sent yet"
    )
    clock.now += 1_000
    await store.retention.prune(bodies_after=50, hashes_after=900)
    assert await store.alerts.find(kept.id) is None
    assert len((await store.records.open_replies("default")).replies) == 1
