"""What thinning the history keeps and costs: in proportion to what came of age, in portions, on both engines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta

import pytest
import sqlalchemy as sa

from shared.history import retention
from shared.history.engine import Act, metadata, samples, series
from shared.history.retention import Retention, T
from shared.storage.database import open_engine, parse_url
from tests.growth import DatabaseWork, database_work
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


async def thin(engine: sa.Engine, *, after: timedelta = timedelta()) -> DatabaseWork:
    """A whole pass of a process that has just started, at a time after the first one."""

    async def transact(act: Act[T]) -> T:
        with engine.begin() as connection:
            return act(connection)

    passing = Retention(transact, transact)
    with database_work(engine) as work:
        await passing.run(now=NOW + after)
        while passing.is_under_way:
            await passing.run(now=NOW + after)
    return work


def write(engine: sa.Engine, times: Mapping[int, Iterable[int]]) -> None:
    """Samples of series by their number."""
    with engine.begin() as connection:
        for number, of in times.items():
            row = {
                "workspace": "acme",
                "kind": "inbox",
                "key": f"sam{number}@x.com",
                "metric": "health_score",
            }
            connection.execute(sa.insert(series).values(id=ID + number, last_at=max(of), **row))
            values = [{"series_id": ID + number, "at": at, "value": 90.0} for at in of]
            connection.execute(sa.insert(samples), values)
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


async def test_old_samples_are_thinned_in_portions_and_the_last_value_stays(
    engine: sa.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "SERIES_TOGETHER", 15)
    monkeypatch.setattr(retention, "MOST_PORTIONS", 3)
    write(engine, {**{number: twice_a_day(450) for number in range(1, 31)}, 31: twice_a_day(450)[-2:]})
    await thin(engine)
    assert kept(engine, 1) == kept(engine, 30) == should_stay(twice_a_day(450))
    assert len(kept(engine, 31)) == 1
    day = await thin(engine, after=timedelta(days=1))
    assert day.most_written <= 2 * 15  # of the series that are thinned together


async def test_the_next_day_reads_only_what_came_of_age(engine: sa.Engine) -> None:
    write(engine, {number: twice_a_day(300) for number in range(1, 51)})
    first = await thin(engine)
    hour = await thin(engine, after=timedelta(hours=1))
    day = await thin(engine, after=timedelta(days=1))
    assert hour.written == 0
    assert hour.statements < 15
    assert day.written == 50 + 2 * 3  # a sample of the day that is sixty days old, and each stage's mark
    assert day.rows < first.rows / 20
