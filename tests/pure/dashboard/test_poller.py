"""Sources into ticks, from an account that can fail, stall and come back."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from shared.api.pace import BudgetState
from shared.domain.snapshot import RATE_LIMITED, SLOW, SOURCES, ProblemStart, Snapshot
from shared.domain.workspace_verdict import SERVICE
from shared.history.history import History
from shared.storage.database import parse_url
from tests.kit.clock import moment
from tests.kit.scripted import Request, ScriptedAccount
from tests.kit.snapshots import account
from tests.kit.waiting import until
from tui.feed import poller as polling
from tui.feed.history_access import HistoryAccess
from tui.feed.poller import Poller, Tick, intervals
from tui.model.happened import Mark


@pytest.fixture(autouse=True)
def stagger(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read all sources at once; that a start doesn't ask for everything in one moment has a test of its own."""
    monkeypatch.setattr(polling, "STAGGER", 0.0)


def scripted(**options: Any) -> ScriptedAccount:
    """The account of the snapshots, with one sequence."""
    names = ("email", "health_score", "daily_limit", "status")
    inboxes = [{name: getattr(box, name) for name in names} for box in account().inboxes.value or ()]
    service = ScriptedAccount(inboxes=inboxes, stats=[{"group": "One", "sends": 9, "replies": 1}], **options)
    service.add("One")
    return service


def trouble_of(tick: Tick) -> str:
    """Why the service can't be read."""
    return next((one.text for one in tick.board.conditions if one.key == SERVICE), "")


class Watcher:
    """Collects ticks, and waits for one that fits."""

    def __init__(self) -> None:
        self.ticks: list[Tick] = []
        self._more = asyncio.Event()

    def __call__(self, tick: Tick) -> None:
        self.ticks.append(tick)
        self._more.set()

    async def until(self, fits: Callable[[Tick], bool], *, after: int = 0) -> Tick:
        """The first tick that fits, of those after so many."""
        async with asyncio.timeout(30):
            while True:
                for tick in self.ticks[after:]:
                    if fits(tick):
                        return tick
                self._more.clear()
                await self._more.wait()


@asynccontextmanager
async def polled(
    service: ScriptedAccount,
    *,
    seconds: float = 600,
    history: HistoryAccess | None = None,
    patience: float = 12,
    now: Callable[[], datetime] = moment,
) -> AsyncIterator[tuple[Poller, Watcher]]:
    watcher = Watcher()
    poller = Poller(
        workspace="acme", intervals=intervals(seconds), now=now, history=history, timeout=patience, jitter=0.0
    )
    past = await history.recall(now=now()) if history else None
    poller.start(watcher, past=past)
    async with service.client() as client:
        poller.connect(client)
        try:
            yield poller, watcher
        finally:
            await poller.aclose()
    await until(lambda: not [one for one in threading.enumerate() if one.name.startswith("boards")])
    left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    assert left == [], "nothing of the poller runs on"


def is_read(tick: Tick) -> bool:
    return tick.beats >= len(SOURCES)


async def test_everything_is_read_and_not_in_one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    async with polled(scripted()) as (_, watcher):
        tick = await watcher.until(is_read)
        assert tick.board.sequences[0].sequence.name == "One"
        reads = sorted(stamp.reading.read_at for stamp in tick.board.stamps.values() if stamp.reading.read_at)
        assert len(reads) == len(SOURCES)
        assert 1 < (reads[-1] - reads[0]).total_seconds() < 7, "a start is no burst, and doesn't take long"
        assert len(watcher.ticks) <= len(SOURCES), "without a change there is no tick"


async def test_an_outage_is_shown_and_once_one_source_answers_again_all_are_read() -> None:
    service = scripted()
    async with polled(service) as (poller, watcher):
        boxes = (await watcher.until(is_read)).snapshot.inboxes.value or ()
        service.failing[""] = httpx.ConnectError("down")
        poller.read_now()
        down = await watcher.until(
            lambda tick: all(one.reading.failed_since for one in tick.board.stamps.values())
        )
        assert trouble_of(down) == "The outreach service can't be reached"
        assert down.board.sequences, "the last data stays"
        del service.failing[""]
        poller.read_now("sequences")
        well = await watcher.until(lambda tick: not trouble_of(tick), after=len(watcher.ticks))
    assert all(well.snapshot.reading(source).failed_since is None for source in SOURCES.values())
    kept = zip(boxes, well.snapshot.inboxes.value or (), strict=True)
    assert all(one is other for one, other in kept), "what reads as before is in memory once"


async def test_a_source_that_stalls_is_named_holds_up_no_other_and_is_read_once_more_where_it_is_wanted() -> (
    None
):
    go_on = asyncio.Event()

    async def stall(request: Request) -> None:
        if request.path == "/sequences":
            await go_on.wait()

    service = scripted(before=stall)
    async with polled(service, patience=0.5) as (poller, watcher):
        tick = await watcher.until(lambda tick: bool(trouble_of(tick)))
        assert trouble_of(tick) == "The outreach service is slow to respond for sequences"
        assert tick.board.stamps["sequences"].reading.error == "No response within 0.5 s."
        assert tick.beats == len(SOURCES) - 1
        asked = len(service.requests)
        poller.read_now("sequences")
        await asyncio.sleep(
            0.05
        )  # the reading is under way: it may have begun before the change that it shall show
        poller.read_now("sequences")
        service.sequences[0]["status"] = "paused"
        go_on.set()
        read = await watcher.until(lambda tick: tick.beats == len(SOURCES) + 1)
        assert read.board.sequences[0].sequence.status == "paused"
    assert [request.path for request in service.requests[asked:]] == ["/sequences"] * 2


@pytest.mark.parametrize("hours", [-1, 1])
async def test_a_clock_that_is_set_stops_no_reads(hours: int) -> None:
    step = [timedelta()]
    async with polled(scripted(), seconds=3600, now=lambda: moment() + step[0]) as (poller, watcher):
        await watcher.until(is_read)
        # Read once an hour, nothing would come again within the test, unless the step itself is noticed.
        step[0] = timedelta(hours=hours)
        tick = await watcher.until(lambda tick: tick.beats >= 2 * len(SOURCES))
        assert not trouble_of(tick)
        read_at = [stamp.reading.read_at for stamp in tick.board.stamps.values() if stamp.reading.read_at]
        assert all(abs((at - moment() - step[0]).total_seconds()) < 20 for at in read_at)
        assert poller.snapshot.sequences.error is None


class Stuck:
    """A client that has no answer; its key may be stopped after a 429."""

    service_time = None

    def __init__(self, resumes_in: float | None) -> None:
        resumes_at = None if resumes_in is None else moment().timestamp() + resumes_in
        self.budget = BudgetState(rate=1.0, resumes_at=resumes_at)

    async def list_sequences(self, **_: Any) -> None:
        await asyncio.Event().wait()


@pytest.mark.parametrize(("resumes_in", "cause"), [(None, SLOW), (-60, SLOW), (60, RATE_LIMITED)])
async def test_a_key_that_is_stopped_is_told_from_a_slow_service(
    resumes_in: float | None, cause: str
) -> None:
    poller = Poller(workspace="acme", intervals=intervals(30), now=moment, timeout=0.01)
    await poller._read(SOURCES["sequences"], Stuck(resumes_in))  # type: ignore[arg-type] # as much as is read
    assert poller.snapshot.sequences.cause == cause


class Noted(HistoryAccess):
    """A history that counts the ticks that were shown when something was asked of it."""

    ticks: Sequence[Tick] = ()

    def __init__(self, store: History) -> None:
        super().__init__(store, workspace="acme")
        self.kept, self.followed = list[Snapshot](), list[int]()

    async def keep(self, snapshot: Snapshot, *, now: datetime) -> tuple[Mark, ...]:
        self.kept.append(snapshot)
        return await super().keep(snapshot, now=now)

    async def follow_problems(
        self, present: Sequence[ProblemStart], *, spared: str, now: datetime
    ) -> tuple[ProblemStart, ...] | None:
        self.followed.append(len(self.ticks))
        return await super().follow_problems(present, spared=spared, now=now)


@pytest.mark.parametrize("is_recalled", [True, False])
async def test_what_was_stored_is_not_kept_as_new_and_what_changes_is_told_without_another_read(
    tmp_path: Path, *, is_recalled: bool
) -> None:
    earlier, go_on = moment() - timedelta(hours=1), asyncio.Event()

    async def stall(request: Request) -> None:
        if request.path == "/leads":
            await go_on.wait()

    service = scripted(before=stall)
    async with History(parse_url(f"sqlite:///{tmp_path}/history.db")) as store:
        if is_recalled:
            await store.add(account(now=earlier), now=earlier)
        history = Noted(store)
        async with polled(service, history=history) as (poller, watcher):
            history.ticks = watcher.ticks
            await watcher.until(lambda tick: tick.beats == len(SOURCES) - 1)
            if is_recalled:
                assert history.kept == []
            else:
                await until(lambda: history.kept)
            go_on.set()
            await watcher.until(is_read)
            assert history.followed[0] == is_recalled, "what was stored is shown without a look at it"
            service.sequences[0]["status"] = "paused"
            poller.read_now("sequences")
            told = await watcher.until(lambda tick: any(one.subject == "One" for one in tick.changes))
            assert told.beats == len(SOURCES) + 1
        assert all(one.interested.read_at != earlier for one in history.kept)


class StuckHistory(HistoryAccess):
    """A history whose database neither answers nor refuses."""

    async def keep(self, snapshot: Snapshot, *, now: datetime) -> tuple[Mark, ...]:
        await asyncio.Event().wait()
        return ()


async def test_a_history_that_never_answers_holds_up_no_board(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polling, "SAVE_WAIT", 0.05)
    service = scripted()
    async with (
        History(parse_url(f"sqlite:///{tmp_path}/history.db")) as store,
        polled(service, history=StuckHistory(store, workspace="acme")) as (poller, watcher),
    ):
        await watcher.until(is_read)
        service.sequences[0]["status"] = "paused"
        poller.read_now("sequences")
        later = await watcher.until(lambda tick: tick.board.sequences[0].sequence.status == "paused")
    assert not later.snapshot.sequences.error


def test_statuses_are_read_often_and_health_seldom_and_the_settings_win() -> None:
    found = intervals(30)
    assert found["sequences"] == 30 < found["inboxes"] < found["previous"]
    assert intervals(30, {"inboxes": 600}) == found | {"inboxes": 600}
    poller = Poller(workspace="acme", intervals=found, now=moment, jitter=0.1)
    waits = [poller._wait_seconds(SOURCES["inboxes"]) for _ in range(100)]
    assert min(waits) == pytest.approx(55, abs=1)
    assert max(waits) == pytest.approx(65, abs=1)
