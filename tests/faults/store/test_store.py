"""The store alone, on both engines, by a clock that the test holds."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.config import Config
from alembic.script import ScriptDirectory

from bot.delivery import Routes
from shared.api.version import VERSION
from shared.domain.reply_states import AFTER, State
from shared.records import Actor, RuleFinding, Timer
from shared.store import Store, erasure, jobs, open_store
from shared.store.db import migrate, schema
from shared.store.db.engine import SteadyClock
from shared.store.db.migrate import UnusableSchema
from shared.store.deliveries import Arrival, PendingDelivery
from shared.store.messages import Sent
from tests.kit.bot import interested
from tests.kit.due import claim_turns
from tests.kit.manual_clock import HOUR, ManualClock, arrive, routes


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


async def test_processes_that_look_at_the_same_deliveries_at_once_count_every_arrival_once(
    store: Store,
) -> None:
    batch = [Arrival(workspace="default", body=interested(n), at=1.0) for n in range(20)]
    # In both orders, so that processes differ in which arrivals they meet first.
    groups = [batch if number % 2 else batch[::-1] for number in range(6)]
    await asyncio.gather(*(store.arrivals.append(group) for group in groups))

    async def look() -> list[PendingDelivery]:
        looked: list[PendingDelivery] = []
        while news := await store.deliveries.route(routes().decide, limit=9):
            looked += [pending for pending, _ in news]
        return looked

    looked = [pending for some in await asyncio.gather(*(look() for _ in range(4))) for pending in some]
    assert sum(pending.is_new for pending in looked) == 20
    taken = Counter[str]()
    for pending in looked:
        taken[pending.alert_id] += pending.arrivals
    assert [*taken.values()] == [6] * 20


def test_the_steady_clock_never_goes_back_and_follows_forwards() -> None:
    # The clock is set back from 101 to 50: time stands still for one reading, and then goes on.
    wall = iter([100.0, 101.0, 50.0, 52.0, 90.0])
    steady = SteadyClock(lambda: next(wall))
    assert [steady() for _ in range(4)] == [101.0, 101.0, 103.0, 141.0]


async def test_a_job_of_an_unknown_kind_is_reported(store: Store, clock: ManualClock) -> None:
    brew: Any = "brew"
    # As a newer version leaves it to an older one: it waits for the newer one.
    await store.database.write(lambda tx: jobs.put(tx, brew, "tea", at=clock.now, how="keep"))
    assert await store.jobs.unknown_kinds() == ["brew"]


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
    assert len((await store.open_replies("default")).replies) == 1


ENDS_AT = datetime(2026, 11, 24, 16, 0, tzinfo=UTC)


async def test_the_next_migration_is_applied_and_recorded(
    empty: sa.URL, clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_store(empty, clock=clock) as store:
        timer = Timer(key="sq_1", due_at=ENDS_AT, payload={"name": "Q3 CTOs"})
        await store.set_timer("default", timer)
        state = await store.database.read(lambda tx: migrate.read_state(tx.connection))
        assert (state.revision, bool(state.made_by), state.problem) == (migrate.HEAD, True, "")
    scripts = shutil.copytree(migrate.SCRIPTS, tmp_path / "migrations")
    (scripts / "versions" / "9990_next.py").write_text(
        f"from alembic import op\n\nrevision, down_revision = '9990', '{migrate.HEAD}'\n\n\n"
        "def upgrade() -> None:\n    op.execute('CREATE TABLE next_release (id INTEGER)')\n"
    )
    monkeypatch.setattr(migrate, "SCRIPTS", scripts)
    monkeypatch.setattr(migrate, "_known", lambda: frozenset({"0323", "9990"}))
    monkeypatch.setattr(migrate, "HEAD", "9990")
    async with open_store(empty, clock=clock) as store:
        assert await store.database.read(lambda tx: sa.inspect(tx.connection).has_table("next_release"))
        state = await store.database.read(lambda tx: migrate.read_state(tx.connection))
        assert (state.revision, state.made_by) == ("9990", VERSION)
        assert (await store.pauses("default")).timers == {"sq_1": timer}


@pytest.mark.parametrize("revision", ["9999", "0042b", "a1b2c3"])
async def test_a_database_that_a_newer_version_upgraded_is_refused_by_name(
    empty: sa.URL, clock: ManualClock, revision: str
) -> None:
    """However the newer version names its schema."""
    async with open_store(empty, clock=clock) as running:
        later = sa.insert(schema.releases).values(revision=revision, version="7.3.1", at=0.0)
        await running.database.write(lambda tx: tx.execute(later))
        newer = sa.text("UPDATE alembic_version SET version_num = :revision").bindparams(revision=revision)
        await running.database.write(lambda tx: tx.execute(newer))
        with pytest.raises(UnusableSchema, match=r"made by version 7\.3\.1"):
            await running.arrivals.check()  # what readiness asks
    with pytest.raises(UnusableSchema, match=r"made by version 7\.3\.1, this is version \d"):
        async with open_store(empty):
            pass


SUBJECTS = ("q3 founders", "q3 ctos")


def finding_of(subject: str) -> RuleFinding:
    return RuleFinding(
        workspace="default",
        rule="bounces",
        sentence="pause sequence when bounces > 3% in 24h, at most 1 a day, at most 1 sequence at once",
        action="pause",
        subject=subject,
        label=subject,
        note="5%",
        sequences=(subject,),
    )


async def test_a_rules_limits_hold_with_two_evaluators(url: sa.URL, clock: ManualClock) -> None:
    async with open_store(url, clock=clock) as one, open_store(url, clock=clock) as other:
        await one.jobs.keep_going("evaluate", ["default"])
        # Two evaluators may decide at one moment: only the transaction that begins an incident can count.
        begun = await asyncio.gather(
            *(
                store.incidents.begin(finding_of(subject))
                for store, subject in zip((one, other), SUBJECTS, strict=True)
            )
        )
        assert sorted(begun) == ["", "per day"]
        assert len(await one.incidents.open("default")) == 1


@pytest.mark.parametrize(
    "day",
    [
        pytest.param(datetime(2026, 3, 29, tzinfo=UTC), id="02:30 is skipped"),
        pytest.param(datetime(2026, 10, 25, tzinfo=UTC), id="02:30 comes twice"),
    ],
)
async def test_a_digest_comes_once_on_the_days_when_the_clocks_change(
    store: Store, clock: ManualClock, day: datetime
) -> None:
    clock.now = day.timestamp() - 2 * HOUR
    await store.set_digest("default", "C1", "02:30 Europe/Berlin")
    given = 0
    for _ in range(12):  # until noon in Berlin, on that day alone
        clock.now += HOUR
        for job in await store.jobs.claim("digest", lease=10.0, limit=9, workspaces=["default"]):
            due = await store.digests.due(job)
            given += bool(due and await store.digests.give(job, due, "{}"))
    assert given == 1


ANN, BEN = Actor(name="ann", id="U1"), Actor(name="ben", id="U2")
VERBS = sorted({verb for acts in AFTER.values() for verb in acts} - {"mail"})  # the store knows it as `claim`
INTO = {
    State.UNCLAIMED: (),
    State.SNOOZED: ("snooze",),
    State.CLAIMED: ("claim", "remind"),
    State.DONE: ("done",),
}


@pytest.mark.parametrize("state", State)
async def test_an_act_changes_a_reply_exactly_where_the_table_allows_it(
    store: Store, clock: ManualClock, state: State
) -> None:
    await arrive(store, *(interested(number) for number in range(len(VERBS))))
    replies = (await store.open_replies("default")).replies
    for verb, reply in zip(VERBS, replies, strict=True):
        for step in INTO[state]:
            await store.alerts.act(reply.id, step, ANN, until=clock.now + 60.0)
        # Each act takes nothing from anybody but who had the reply when it was offered.
        colleague = verb in {"takeover", "assign"}
        change = await store.alerts.act(
            reply.id,
            verb,
            BEN if verb == "takeover" else ANN,
            until=clock.now + 90.0,
            instead_of="U1" if colleague and state is State.CLAIMED else "",
            person=BEN if verb == "assign" else None,
        )
        assert change
        assert (verb, change.changed) == (verb, verb in AFTER[state])
        assert change.alert.state is AFTER[state].get(verb, state)
