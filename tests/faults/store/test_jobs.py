"""One job for each thing that is due, done by one process at a time, whatever dies, is put again or set back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
import sqlalchemy as sa

from bot.runtime import Wakeup
from bot.worker import Kind, Worker
from shared.records import RecordsUnavailable
from shared.store import Store, open_store
from shared.store import jobs as job_rows
from shared.store.db.schema import jobs
from shared.store.jobs import ASKED_FOR, Again, Done, End, How, Job
from tests.kit.due import settle
from tests.kit.manual_clock import ManualClock

LEASE = 10.0
KIND: Any = "late"
OTHER: Any = "zzz"


@pytest.fixture
async def other(url: sa.URL, clock: ManualClock, store: Store) -> AsyncIterator[Store]:
    """Another process on the same database."""
    async with open_store(url, clock=clock) as opened:
        yield opened


async def put(
    store: Store, key: str = "a", *, how: How = "keep", after: float = 0.0, rank: int = 1, workspace: str = ""
) -> None:
    at = store.database.clock() + after
    await store.database.write(
        lambda tx: job_rows.put(
            tx, KIND, key, at=at, how=how, rank=rank, workspace=workspace, payload={"put": how}
        )
    )


async def claim(store: Store, *, limit: int = 10, workspaces: Sequence[str] = ("w",)) -> Sequence[Job]:
    return await store.jobs.claim(KIND, lease=LEASE, limit=limit, workspaces=workspaces)


async def rows(store: Store) -> Sequence[sa.Row[tuple[object, ...]]]:
    return await store.database.read(lambda tx: tx.execute(sa.select(jobs).order_by(jobs.c.id)).all())


async def test_a_kind_and_key_have_one_job_and_one_holder(store: Store, other: Store) -> None:
    for number in range(20):
        await put(store, f"k{number % 10}")
    assert len(await rows(store)) == 10
    ours, theirs = await asyncio.gather(claim(store, limit=10), claim(other, limit=10))
    both = [job.key for job in (*ours, *theirs)]
    assert sorted(both) == sorted({*both})
    assert len(both) + len(await claim(store)) == 10


async def test_a_holder_that_died_delays_its_job_by_its_lease(
    store: Store, other: Store, clock: ManualClock
) -> None:
    await put(store)
    (dead,) = await claim(store)
    clock.now += LEASE - 0.1
    assert not await claim(other)
    clock.now += 0.1
    (ours,) = await claim(other)
    assert ours.attempts == dead.attempts + 1, "a crash counts"
    # It was only slow, and ends its work now: the row has another token by then.
    await store.jobs.end({dead: Again(after=900.0)})
    await store.jobs.end({dead: Done()})
    (row,) = await rows(store)
    assert (row.token, row.due_at) == (ours.token, clock.now + LEASE), "a stale token changes nothing"
    await other.jobs.end({ours: Done()})
    assert not await rows(store)


async def test_a_job_that_is_put_while_it_is_done_is_done_anew(store: Store) -> None:
    for how in ("keep", "sooner"):
        await put(store)
        (job,) = await claim(store)
        # The news may come after the handler has read what it works on.
        await put(store, how=how)
        assert not await claim(store), "it keeps its lease"
        await store.jobs.end({job: Done()})
        (anew,) = await claim(store)
        await store.jobs.end({anew: Done()})
        assert not await rows(store)


async def test_a_replaced_job_is_lost_to_whoever_does_it(store: Store) -> None:
    await put(store)
    (lost,) = await claim(store)
    await put(store, how="replace", after=60.0)
    # A timer that a person has replaced meanwhile must not be carried out.
    held = await store.database.write(lambda tx: job_rows.held(tx, lost))
    assert not held
    await store.jobs.end({lost: Done()})
    (row,) = await rows(store)
    assert (row.attempts, row.payload) == (0, '{"put": "replace"}')
    assert not await claim(store)


async def test_what_is_put_shortens_no_pace_and_wakes_what_sleeps(store: Store, clock: ManualClock) -> None:
    await put(store)
    (job,) = await claim(store)
    # One more message for an archived channel doesn't mean that it is open again.
    await store.jobs.end({job: Again(after=30.0)})
    await put(store)
    assert not await claim(store), "its pace and its trouble stay"
    await put(store, how="sooner", after=10.0)
    clock.now += 10
    (job,) = await claim(store)
    await store.jobs.end({job: Again(after=None, attempts=0)})
    clock.now += 10_000
    assert not await claim(store), "it sleeps"
    await put(store)
    (job,) = await claim(store)
    assert job.attempts == 1


async def test_what_a_person_waits_for_comes_before_ten_thousand_others(store: Store) -> None:
    many = [{"kind": KIND, "key": f"k{n}", "due_at": store.database.clock() - 60.0} for n in range(10_000)]
    await store.database.write(lambda tx: tx.execute(sa.insert(jobs), many))
    await put(store, "k5000", how="sooner", rank=ASKED_FOR)
    await put(store, "clicked", how="sooner", rank=ASKED_FOR)
    first = await claim(store, limit=3)
    assert {job.key for job in first[:2]} == {"k5000", "clicked"}
    # Keeping its rank, a card that fails would hold up what others have clicked.
    await store.jobs.end({first[0]: Again(after=0.0, attempts=0)})
    assert first[0].key not in {job.key for job in await claim(store, limit=3)}, (
        "its rank is an ordinary one again"
    )


async def test_jobs_of_a_removed_workspace_wait_and_delay_no_other(store: Store, clock: ManualClock) -> None:
    await put(store, "orphan", workspace="gone")
    await put(store, "ours", workspace="W")
    assert [job.key for job in await claim(store)] == ["ours"]
    assert await store.jobs.waits([KIND], ["other"]) == {}
    # The workspace may come back into the settings: its timers are kept for thirty days (ORPHANED_SECONDS).
    clock.now += 29 * 86_400
    assert await store.jobs.forget_orphans(["w"]) == 0
    assert [job.key for job in await claim(store, workspaces=["Gone"])] == ["orphan"], "it came back"


async def test_a_clock_that_was_set_back_frees_what_is_leased(store: Store, clock: ManualClock) -> None:
    await put(store)
    await claim(store)
    # Written by the clock of before, the lease would end in an hour.
    clock.now -= 3_600
    await store.jobs.sweep({KIND: (LEASE, 7_200.0)})
    assert len(await claim(store)) == 1
    await store.jobs.sweep({KIND: (LEASE, 7_200.0)})
    assert not await claim(store), "a lease that may be is kept"


@dataclass
class Handled:
    """A handler that notes what it gets, and does what the test wishes."""

    ends: End | None = field(default_factory=Done)
    fails: Exception | None = None
    groups: list[list[str]] = field(default_factory=list)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event | None = None

    async def __call__(self, group: Sequence[Job]) -> Mapping[Job, End]:
        self.groups.append(sorted(job.key for job in group))
        self.begun.set()
        if self.go_on:
            await self.go_on.wait()
        if self.fails:
            raise self.fails
        return dict.fromkeys(group, self.ends) if self.ends else {}


def worker(store: Store, *kinds: Kind) -> Worker:
    return Worker(store, kinds, workspaces=["w"], wakeup=Wakeup())


async def test_a_job_that_fails_is_tried_alone_and_again_and_delays_no_other(
    store: Store, clock: ManualClock
) -> None:
    handled = Handled(fails=ValueError("broken"))
    ours = worker(store, Kind(name=KIND, handle=handled, batch=10))
    for key in ("a", "b"):
        await put(store, key)
    for _ in range(3):
        await ours.round()
        await settle(ours)
        clock.now += 100
    # Of a batch nobody knows which one failed: alone, the broken one fails without the others.
    assert handled.groups[0] == ["a", "b"]
    assert sorted(handled.groups[-2:]) == [["a"], ["b"]]
    assert {row.attempts for row in await rows(store)} == {3}


async def test_a_kind_that_is_busy_delays_no_other(store: Store) -> None:
    slow, quick = Handled(go_on=asyncio.Event()), Handled()
    # The slow handler is held, so that the kind's one slot is taken when the next round begins.
    ours = worker(store, Kind(name=KIND, handle=slow, parallel=1), Kind(name=OTHER, handle=quick))
    for key in ("a", "b"):
        await put(store, key)
    at = store.database.clock()
    await store.database.write(lambda tx: job_rows.put(tx, OTHER, "q", at=at, how="keep"))
    await ours.round()
    await asyncio.wait_for(quick.begun.wait(), 60)
    await ours.round()
    assert len(slow.groups) == 1, "it has one slot"
    assert slow.go_on is not None
    slow.go_on.set()
    await settle(ours)
    await ours.round()
    await settle(ours)
    assert slow.groups == [["a"], ["b"]]


async def test_a_database_that_fails_under_a_job_has_it_done_again(store: Store, clock: ManualClock) -> None:
    handled = Handled(fails=RecordsUnavailable("The database is locked."))
    ours = worker(store, Kind(name=KIND, handle=handled))
    await put(store)
    await ours.round()
    await settle(ours)
    handled.fails = None
    clock.now += 60
    await ours.round()
    await settle(ours)
    assert not await rows(store)
