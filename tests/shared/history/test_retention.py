"""What thinning the history costs: in proportion to what came of age, in portions, on both engines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta

import pytest
import sqlalchemy as sa

from shared.history import retention
from shared.history.engine import Act, metadata, samples, series
from shared.history.retention import Retention, T
from shared.storage.database import open_engine, parse_url
from tests.growth import LINEAR, DatabaseWork, database_work
from tests.shared.harness import NOW

DAY, HOUR = 86_400, 3_600
TODAY = int(NOW.timestamp()) // DAY * DAY
ID = 1_000
"""Added to the number of a series, since PostgreSQL counts its own ids from 1."""


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest) -> Iterator[sa.Engine]:
    if request.param == "sqlite":
        url = parse_url(f"sqlite:///{request.getfixturevalue('tmp_path')}/history.db")
    else:
        url = parse_url(request.getfixturevalue("fresh_postgresql"))
    opened = open_engine(url)
    metadata.create_all(opened)
    yield opened
    opened.dispose()


class Pass:
    """Retention over an engine of the test's own."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self.retention = Retention(self._transact, self._transact)
        self.calls = 0

    async def _transact(self, act: Act[T]) -> T:
        with self._engine.begin() as connection:
            return act(connection)

    async def all(self, *, after: timedelta = timedelta()) -> DatabaseWork:
        """A whole pass, at a time after the first one."""
        with database_work(self._engine) as work:
            await self.retention.run(now=NOW + after)
            while self.retention._jobs:
                self.calls += 1
                await self.retention.run(now=NOW + after)
        return work


def write(engine: sa.Engine, times: Mapping[int, Iterable[int]]) -> None:
    """Samples of series by their number."""
    found = {i: sorted(of) for i, of in times.items()}
    with engine.begin() as connection:
        for i, of in found.items():
            row = {"workspace": "acme", "kind": "inbox", "key": f"sam{i}@x.com", "metric": "health_score"}
            connection.execute(sa.insert(series).values(id=ID + i, last_at=of[-1], **row))
            connection.execute(
                sa.insert(samples), [{"series_id": ID + i, "at": at, "value": 90.0} for at in of]
            )
        connection.exec_driver_sql("ANALYZE")


def kept(engine: sa.Engine, number: int) -> list[int]:
    query = sa.select(samples.c.at).where(samples.c.series_id == ID + number).order_by(samples.c.at)
    with engine.connect() as connection:
        return list(connection.scalars(query))


def twice_a_day(days: int) -> list[int]:
    return [TODAY - day * DAY + hours * HOUR for day in range(1, days + 1) for hours in (8, 16)]


def should_stay(times: list[int]) -> list[int]:
    """The last of each hour after seven days, of each day after sixty; after 400 days only the last of all."""
    found: dict[object, int] = {}
    for at in sorted(times):
        age = (TODAY - at - 1) // DAY
        if age < 400 or at == max(times):
            found["day", at // DAY if age >= 60 else at // HOUR if age >= 7 else at, age >= 60, age >= 7] = at
    return sorted(found.values())


async def test_a_year_of_ten_times_as_many_inboxes_takes_ten_times_the_work(
    engine: sa.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "SERIES", 5)  # of 100, as 50 are of 1,000
    write(engine, {i: twice_a_day(300) for i in range(1, 11)})
    few = await Pass(engine).all()
    with engine.begin() as connection:
        connection.execute(sa.delete(samples))
        connection.execute(sa.delete(series))
    write(engine, {i: twice_a_day(300) for i in range(1, 101)})
    many = await Pass(engine).all()
    assert kept(engine, 100) == should_stay(twice_a_day(300))
    assert many.written - few.written == 90 * 240  # of each of 240 days a sample
    assert many.rows <= LINEAR * few.rows
    assert many.statements <= LINEAR * few.statements
    assert many.most_written <= retention.WRITTEN


async def test_the_next_day_reads_only_what_came_of_age(engine: sa.Engine) -> None:
    write(engine, {i: twice_a_day(300) for i in range(1, 51)})
    first = await Pass(engine).all()
    hour = await Pass(engine).all(after=timedelta(hours=1))
    day = await Pass(engine).all(after=timedelta(days=1))
    assert hour.written == 0
    assert hour.statements < 10  # also after a restart
    assert (
        day.written == 50 + 3
    )  # a sample of the day that is sixty days old, and until when each stage is done
    assert day.rows < first.rows / 20


async def test_one_call_does_a_limited_number_of_portions(
    engine: sa.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "MOST_PORTIONS", 10)
    write(engine, {i: twice_a_day(120) for i in range(1, 61)})
    under_way = Pass(engine)
    with database_work(engine) as work:
        await under_way.retention.run(now=NOW)
    assert work.written <= 10 * retention.WRITTEN
    await under_way.all(after=timedelta(minutes=1))
    assert under_way.calls > 1
    assert kept(engine, 60) == should_stay(twice_a_day(120))


async def test_thinning_continues_where_a_clock_was_ahead_for_a_while(engine: sa.Engine) -> None:
    write(engine, {1: twice_a_day(3)})
    await Pass(engine).all(after=timedelta(days=30))
    write(engine, {50: twice_a_day(100)})
    await Pass(engine).all()
    assert kept(engine, 50) == should_stay(twice_a_day(100))
