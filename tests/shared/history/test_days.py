"""The counts of whole days, by sequence."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta

import pytest

from shared.api.models import Sequence, StatsRow
from shared.domain.snapshot import Reading, Snapshot
from shared.history import History
from shared.history.engine import metadata
from shared.storage.database import open_engine, parse_url

MONDAY = date(2026, 3, 2)
DAY = timedelta(days=1)


@pytest.fixture(params=["sqlite", "postgresql"])
async def history(request: pytest.FixtureRequest) -> AsyncIterator[History]:
    place = (
        f"sqlite:///{request.getfixturevalue('tmp_path')}/history.db"
        if request.param == "sqlite"
        else request.getfixturevalue("postgresql")
    )
    engine = open_engine(parse_url(place))
    metadata.drop_all(engine)  # tests share a PostgreSQL
    engine.dispose()
    async with History(parse_url(place)) as opened:
        yield opened


def row(group: str, sends: int | None) -> StatsRow:
    return StatsRow(group=group, sends=sends, replies=1, positive_replies=0, meetings=0)


async def sends_of(history: History, *keys: str, start: date = MONDAY) -> dict[date, int | None]:
    days = await history.days_of_sequence("acme", keys=keys, start=start)
    return {day: counts.sends for day, counts in days.items()}


async def test_a_day_holds_every_sequence_and_their_total(history: History) -> None:
    """Days come the newest first; a day without a sequence has no sends of it, an unread day is unknown."""
    await history.keep_days("acme", {MONDAY + 3 * DAY: (row("sq_1", 7), row("sq_2", None))})
    await history.keep_days("acme", {MONDAY + 2 * DAY: (row("sq_2", 4),)})
    await history.keep_days("acme", {MONDAY: (row("sq_1", 5),)})
    assert await sends_of(history, "sq_1") == {MONDAY: 5, MONDAY + 2 * DAY: 0, MONDAY + 3 * DAY: 7}
    assert await sends_of(history, "sq_2") == {MONDAY + 2 * DAY: 4, MONDAY + 3 * DAY: None}
    assert await sends_of(history, "sq_1", start=MONDAY + DAY) == {MONDAY + 3 * DAY: 7}
    assert await sends_of(history, "sq_9", "sq_2") == await sends_of(history, "sq_2"), (
        "the first key that is known"
    )
    assert await sends_of(history, "sq_9") == {}
    assert await history.grouped_days("acme", start=MONDAY + DAY) == {MONDAY + 2 * DAY, MONDAY + 3 * DAY}
    total = await history.days("acme", start=MONDAY)
    assert {day: counts.sends for day, counts in total.items()} == {
        MONDAY: 5,
        MONDAY + 2 * DAY: 4,
        MONDAY + 3 * DAY: None,
    }
    assert await history.days_of_sequence("beta", keys=("sq_1",), start=MONDAY) == {}


async def test_a_day_that_is_kept_again_replaces_what_was_kept(history: History) -> None:
    await history.keep_days("acme", {MONDAY: (row("sq_1", 5), row("sq_2", 1))})
    await history.keep_days("acme", {MONDAY: (row("sq_1", 6),), MONDAY + DAY: (row("sq_2", 2),)})
    assert await sends_of(history, "sq_1") == {MONDAY: 6, MONDAY + DAY: 0}
    assert await sends_of(history, "sq_2") == {MONDAY + DAY: 2}


async def test_days_outlive_what_is_thinned_out(history: History) -> None:
    """A sample a day is what the oldest samples are thinned out to."""
    days = {MONDAY - number * DAY: (row("sq_1", number),) for number in range(84)}
    for day, rows in days.items():
        await history.keep_days("acme", {day: rows})
    at = datetime(2026, 3, 3, 12, tzinfo=UTC)
    found: tuple[Sequence, ...] = (Sequence(id="sq_1", name="One", status="active", steps=3),)
    sequences = Reading(value=found, read_at=at)
    for _ in range(20):
        await history.add(Snapshot(workspace="acme", sequences=sequences), now=at)
    assert len(await sends_of(history, "sq_1", start=MONDAY - 84 * DAY)) == 84
