"""Sources into ticks, with a service that can fail, stall and come back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from shared.api.client import OutreachClient
from shared.api.errors import Unreachable
from shared.api.models import Inbox, Lead, Page, Sequence, StatsRow
from shared.api.pace import BudgetState
from shared.domain.snapshot import SOURCES, Snapshot
from shared.domain.workspace_verdict import SERVICE
from shared.history.history import History
from shared.storage.database import parse_url
from tests.kit.clock import moment
from tests.tui.accounts import account
from tui.feed.history_access import HistoryAccess
from tui.feed.poller import Poller, Tick, intervals, pause_seconds
from tui.model.happened import Mark


def trouble_of(tick: Tick) -> str:
    """Why the service can't be read."""
    return next((one.text for one in tick.board.conditions if one.key == SERVICE), "")


class Service:
    """Answers like the client; `down` makes it unreachable, `stalled` makes sequences wait."""

    def __init__(self) -> None:
        self.down = False
        self.stalled: asyncio.Event | None = None
        self.calls: list[str] = []
        self.status = "active"
        self.service_time = None

    @property
    def budget(self) -> BudgetState:
        return BudgetState(rate=9.5)

    async def _answer(self, name: str, value: Any) -> Any:
        self.calls.append(name)
        if self.down:
            raise Unreachable(endpoint=name)
        return value

    async def list_sequences(self, **_: Any) -> tuple[Sequence, ...]:
        if self.stalled:
            await self.stalled.wait()
        one = Sequence(id="sq_0", name="One", status=self.status, steps=3)
        return cast("tuple[Sequence, ...]", await self._answer("sequences", (one,)))

    async def list_inboxes(self, **_: Any) -> tuple[Inbox, ...]:
        return cast("tuple[Inbox, ...]", await self._answer("inboxes", account().inboxes.value))

    async def stats(self, **_: Any) -> tuple[StatsRow, ...]:
        return cast("tuple[StatsRow, ...]", await self._answer("stats", account().stats["sequence"].value))

    async def list_leads(self, **_: Any) -> Page[Lead]:
        return cast("Page[Lead]", await self._answer("leads", Page(items=account().interested.value or ())))


class Watcher:
    """Collects ticks, and waits for one that fits."""

    def __init__(self) -> None:
        self.ticks: list[Tick] = []
        self._more = asyncio.Event()

    def __call__(self, tick: Tick) -> None:
        self.ticks.append(tick)
        self._more.set()

    async def until(self, fits: Any) -> Tick:
        async with asyncio.timeout(30):
            while True:
                for tick in self.ticks:
                    if fits(tick):
                        return tick
                self._more.clear()
                await self._more.wait()


@asynccontextmanager
async def polled(
    service: Service,
    *,
    seconds: float = 0.3,
    history: HistoryAccess | None = None,
    patience: float = 12,
    now: Any = moment,
) -> AsyncIterator[tuple[Poller, Watcher]]:
    watcher = Watcher()
    poller = Poller(
        workspace="acme",
        intervals=intervals(seconds),
        now=now,
        history=history,
        timeout=patience,
    )
    past = await history.recall(now=moment()) if history else None
    poller.start(watcher, past=past)
    poller.connect(cast("OutreachClient", service))
    try:
        yield poller, watcher
    finally:
        await poller.aclose()
        left = [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]
        assert left == [], "nothing of the poller runs on"


async def test_everything_is_read_and_not_in_one_moment() -> None:
    service = Service()
    async with polled(service, seconds=30) as (_, watcher):
        tick = await watcher.until(lambda t: t.beats >= 9)
        assert tick.board.sequences[0].sequence.name == "One"
        assert all(stamp.reading.read_at for stamp in tick.board.stamps.values())
        reads = sorted(s.reading.read_at for s in tick.board.stamps.values() if s.reading.read_at)
        assert (reads[-1] - reads[0]).total_seconds() > 1, "a start must not be a burst"


async def test_an_outage_is_shown_and_ends_automatically() -> None:
    service = Service()
    async with polled(service) as (_, watcher):
        await watcher.until(lambda t: t.beats >= 3)
        service.down = True
        tick = await watcher.until(lambda t: bool(trouble_of(t)))
        assert "can't be reached" in trouble_of(tick)
        assert tick.board.sequences, "the last data stays"
        service.down = False
        seen = len(watcher.ticks)
        await watcher.until(
            lambda t: t in watcher.ticks[seen:] and not t.board.stamps["sequences"].reading.failed_since
        )


async def test_once_one_source_answers_again_the_others_are_read_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tui.feed.poller.STAGGER", 0.0)
    service = Service()
    async with polled(service, seconds=600) as (poller, watcher):
        await watcher.until(lambda tick: tick.beats >= len(SOURCES))
        service.down = True
        poller.read_now()
        await watcher.until(lambda tick: all(one.reading.failed_since for one in tick.board.stamps.values()))
        service.down = False
        poller.read_now("sequences")
        ticks = len(watcher.ticks)
        well = await watcher.until(lambda tick: tick in watcher.ticks[ticks:] and not trouble_of(tick))
    assert all(well.snapshot.reading(source).failed_since is None for source in SOURCES.values())


async def test_a_source_that_stalls_is_named_and_holds_up_no_other() -> None:
    service = Service()
    service.stalled = asyncio.Event()
    async with polled(service, patience=0.5) as (_, watcher):
        tick = await watcher.until(lambda t: t.beats >= 10 and bool(trouble_of(t)))
        assert "sequences" not in service.calls
        assert trouble_of(tick) == "The outreach service is slow to respond for sequences"
        assert tick.board.stamps["sequences"].reading.error == "No response within 0.5 s."
        service.stalled.set()
        await watcher.until(lambda t: bool(t.board.sequences))


async def test_a_hurried_source_is_read_again_even_while_it_is_being_read() -> None:
    service = Service()
    service.stalled = asyncio.Event()
    async with polled(service, seconds=60) as (poller, watcher):
        await watcher.until(lambda t: t.beats >= 8)
        # The reading under way may have begun before the change that it shall show.
        poller.read_now("sequences")
        service.status = "paused"
        service.stalled.set()
        await watcher.until(lambda _: service.calls.count("sequences") == 2)
    assert service.calls.count("sequences") == 2


@pytest.mark.parametrize("hours", [-1, 1])
async def test_a_clock_that_is_set_stops_no_reads(hours: int) -> None:
    service, step = Service(), [timedelta()]
    async with polled(service, seconds=3600, now=lambda: moment() + step[0]) as (poller, watcher):
        await watcher.until(lambda t: t.beats >= 9)
        # Read once an hour, nothing would come again within the test, unless the step itself is noticed.
        step[0] = timedelta(hours=hours)
        tick = await watcher.until(lambda t: t.beats >= 18)
        assert not trouble_of(tick)
        read_at = [stamp.reading.read_at for stamp in tick.board.stamps.values() if stamp.reading.read_at]
        assert len(read_at) == 9
        assert all(abs((at - moment() - step[0]).total_seconds()) < 20 for at in read_at)
        assert poller.snapshot.sequences.error is None


async def test_stored_data_is_shown_before_the_first_read(tmp_path: Path) -> None:
    url = parse_url(f"sqlite:///{tmp_path}/history.db")
    async with History(url) as store:
        await store.add(account(now=moment()), now=moment())
    service = Service()
    service.down = True
    async with (
        History(url) as store,
        polled(service, history=HistoryAccess(store, workspace="acme")) as (_, watcher),
    ):
        # Nothing has been read at beat 0: this is what was stored.
        tick = await watcher.until(lambda t: t.beats == 0)
        assert len(tick.board.inboxes) == 24
        assert not trouble_of(tick)


async def test_a_history_that_cannot_be_used_costs_only_its_charts(tmp_path: Path) -> None:
    async with History(parse_url(f"sqlite:///{tmp_path}")) as store:  # a folder, not a file
        history = HistoryAccess(store, workspace="acme")
        async with polled(Service(), history=history) as (_, watcher):
            await watcher.until(lambda t: bool(t.board.sequences))
        assert history.notice.startswith("No history")


class StuckHistory(HistoryAccess):
    """A history whose database neither answers nor refuses."""

    async def keep(self, snapshot: Snapshot, *, now: datetime) -> tuple[Mark, ...]:
        await asyncio.Event().wait()
        return ()


async def test_a_history_that_never_answers_holds_up_no_board(tmp_path: Path) -> None:
    service = Service()
    async with (
        History(parse_url(f"sqlite:///{tmp_path}/history.db")) as store,
        polled(service, history=StuckHistory(store, workspace="acme")) as (_, watcher),
    ):
        await watcher.until(lambda t: bool(t.board.sequences))
        service.status = "paused"
        later = await watcher.until(lambda t: t.board.sequences[0].sequence.status == "paused")
    assert not later.snapshot.sequences.error


async def test_what_reads_as_before_is_kept_once() -> None:
    service = Service()
    async with polled(service) as (_, watcher):
        first = (await watcher.until(lambda t: bool(t.board.inboxes))).snapshot.inboxes
        later = (
            await watcher.until(lambda t: t.snapshot.inboxes.read_at not in {None, first.read_at})
        ).snapshot.inboxes
        assert first.value
        assert later.value
        assert all(one is other for one, other in zip(first.value, later.value, strict=True))


def test_statuses_are_read_often_and_health_seldom_and_the_settings_win() -> None:
    found = intervals(30)
    assert found["sequences"] == 30 < found["inboxes"] < found["previous"]
    assert intervals(30, {"inboxes": 600}) == found | {"inboxes": 600}


def test_an_alarm_makes_it_faster_and_stillness_slower() -> None:
    assert pause_seconds(30, is_alarmed=True) == 15
    assert pause_seconds(30, unchanged_reads=10) == 45
    assert pause_seconds(30, unchanged_reads=100) == 60
    assert pause_seconds(2, is_alarmed=True) == 2, "never slower for an alarm"
