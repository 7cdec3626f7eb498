"""The history on SQLite and on a real PostgreSQL: what moved, what changed, what was on the screen."""

from __future__ import annotations

import stat
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import URL

from shared.api.models import Inbox, Lead, Sequence, StatsRow
from shared.api.pace import BudgetState
from shared.domain.snapshot import SOURCES, Reading, Snapshot
from shared.history import history as module
from shared.history.history import History
from shared.records import HistoryUnavailable
from shared.storage.database import parse_url

NOW = datetime(2026, 3, 10, 14, 30, tzinfo=UTC)

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def snapshot(at: datetime, *, score: float | None = 90, status: str = "active") -> Snapshot:
    inboxes = (Inbox(email="a@x.com", health_score=score, daily_limit=40, status=status),)
    empty = Snapshot(workspace="acme", budget=BudgetState(rate=9.5))
    return replace(
        empty,
        inboxes=Reading(value=inboxes, read_at=at),
        sequences=Reading(value=(Sequence(id="sq_1", name="Spring", status=status),), read_at=at),
    )


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> URL:
    if request.param == "sqlite":
        return parse_url(f"sqlite:///{tmp_path}/outreach-history.db")
    found = parse_url(request.getfixturevalue("postgresql"))
    engine = sa.create_engine(found)
    with engine.begin() as connection:
        # All tests of a process share the server: rows of another one would be read as history.
        connection.execute(sa.text("DROP SCHEMA public CASCADE"))
        connection.execute(sa.text("CREATE SCHEMA public"))
    engine.dispose()
    return found


@pytest.fixture
async def history(url: URL) -> AsyncIterator[History]:
    async with History(url) as opened:
        yield opened


async def values(history: History, *, points: int = 10_000) -> list[float | None]:
    month, about = 30 * DAY, {"kind": "inbox", "key": "a@x.com"}
    health = await history.health("acme", **about, start=NOW - month, end=NOW + month, points=points)
    return [sample.value for sample in health]


async def test_health_begins_with_the_value_at_its_start_and_is_thinned(history: History) -> None:
    for minute in range(60):
        at = NOW + timedelta(minutes=minute)
        await history.add(snapshot(at, score=minute % 10), now=at)
    about = {"kind": "inbox", "key": "a@x.com"}
    thinned = await history.health("acme", **about, start=NOW, end=NOW + HOUR, points=6)
    assert len(thinned) <= 7
    assert {sample.value for sample in thinned[:-1]} == {9}
    later = await history.health("acme", **about, start=NOW + DAY, end=NOW + 2 * DAY, points=6)
    assert [(sample.at, sample.value) for sample in later] == [(NOW + DAY, 9)]
    assert await history.domains_known_from("acme", end=NOW) == {"x.com": NOW}


async def test_courses_are_evenly_spaced_and_each_sample_holds_until_the_next(history: History) -> None:
    async def course(*, start: datetime) -> Mapping[str, tuple[float, ...]]:
        return await history.sparklines("acme", start=start, end=NOW + 10 * HOUR, points=5)

    assert await course(start=NOW) == {}
    await history.add(snapshot(NOW + 2 * HOUR, score=90), now=NOW + 2 * HOUR)
    later = NOW + timedelta(hours=6.5)
    await history.add(snapshot(later, score=70), now=later)
    assert await course(start=NOW) == {"a@x.com": (90, 90, 90, 70, 70)}
    assert await course(start=NOW + 5 * HOUR) == {"a@x.com": (90, 70, 70, 70, 70)}
    assert await course(start=NOW + 8 * HOUR) == {"a@x.com": (70,) * 5}, "it has not moved since"
    assert await course(start=NOW - 10 * HOUR) == {"a@x.com": (90, 90, 70)}, "nothing is known of before"


async def test_transitions_tell_what_changed_the_newest_first(history: History) -> None:
    await history.add(snapshot(NOW), now=NOW)
    assert await history.transitions("acme") == ()
    await history.add(snapshot(NOW + HOUR, score=50, status="resting"), now=NOW + HOUR)
    changes = await history.transitions("acme")
    assert {(t.kind, t.key, t.label, t.field, t.before, t.after) for t in changes} == {
        ("inbox", "a@x.com", "a@x.com", "status", "active", "resting"),
        ("inbox", "a@x.com", "a@x.com", "health", "healthy", "bad"),
        ("sequence", "sq_1", "Spring", "status", "active", "resting"),
    }
    await history.add(snapshot(NOW + 2 * HOUR, score=50), now=NOW + 2 * HOUR)
    newest = await history.transitions("acme", limit=2)
    assert [(t.at, t.after) for t in newest] == [(NOW + 2 * HOUR, "active")] * 2
    assert len(await history.transitions("acme", kind="inbox", field="health")) == 1
    assert await history.transitions("globex") == ()


async def test_two_writers_in_turn_each_know_what_the_other_wrote(history: History, url: URL) -> None:
    scores = [90, 80, 80, 70, 90, 70]
    # Each remembers what it wrote last; a token in the database says that the other has written since.
    async with History(url) as other:
        for hours, score in enumerate(scores):
            writer = (history, other)[hours % 2]
            await writer.add(snapshot(NOW + hours * HOUR, score=score), now=NOW + hours * HOUR)
    assert await values(history) == [90, 80, 70, 90, 70]
    assert [one.after for one in await history.transitions("acme")] == ["at risk", "healthy", "at risk"]


def whole(made: Snapshot, *, at: datetime) -> Snapshot:
    """The same with everything read."""
    for source in SOURCES.values():
        reading = made.reading(source)
        if reading.read_at is None:
            value = StatsRow(group=source.name) if source.name in {"today", "previous"} else ()
            made = made.with_reading(source, Reading(value=value, read_at=at))
    return made


async def test_the_past_can_be_looked_at_as_it_was(history: History) -> None:
    polls = {}
    for minutes in (0, 1, 2, 60):
        at = NOW + timedelta(minutes=minutes)
        crowd = tuple(Inbox(email=f"{n}@x.com", health_score=90 - minutes) for n in range(401))
        made = replace(
            snapshot(at),
            inboxes=Reading(value=crowd, read_at=at),  # written in several pieces
            interested=Reading(value=(Lead(id="ld_1", email="zoë@x.com", company="Ä"),), read_at=at),
            today=Reading(value=StatsRow(group="", sends=7, replies=None), read_at=at),
        )
        made = whole(made, at=at)
        polls[at] = replace(made, inboxes=made.inboxes.failed("no", cause="It can't be reached", at=at))
        await history.add(polls[at], now=at)
    del polls[NOW + timedelta(minutes=1)]  # too soon after the one before
    assert await history.snapshot_times("acme", start=NOW - DAY, end=NOW + DAY) == tuple(polls)
    for at, poll in polls.items():
        assert await history.snapshot_at("acme", at + timedelta(seconds=5)) == poll
    assert await history.snapshot_at("acme", NOW - DAY) is None


async def test_a_half_loaded_poll_is_not_kept(history: History) -> None:
    # The next start shows the last snapshot: half of one would show an account without anything in it.
    await history.add(snapshot(NOW), now=NOW)
    assert await history.snapshot_times("acme", start=NOW - DAY, end=NOW + DAY) == ()


async def test_gaps_without_reads_are_known(history: History) -> None:
    # Where no dashboard runs, the bot reads every fifteen minutes: ten aren't a gap, three hours are.
    for minutes in (0, 10, 20, 200, 205):
        at = NOW + timedelta(minutes=minutes)
        await history.add(snapshot(at), now=at)
    times = await history.covered("acme", end=NOW + DAY)
    found = [((start - NOW) / HOUR * 60, (end - NOW) / HOUR * 60) for start, end in times]
    assert found == [(0, 20), (200, pytest.approx(205))]


async def test_old_things_are_deleted_in_portions_and_the_last_value_stays(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One series a transaction, so that several are needed: other writers get their turn in between.
    monkeypatch.setattr(module, "SERIES_TOGETHER", 1)
    for hours in range(8):
        at = NOW + hours * HOUR
        poll = snapshot(at, score=hours, status="active" if hours % 2 else "resting")
        await history.add(whole(poll, at=at), now=at)
    assert await values(history) == [*range(8)]
    assert len(await history.snapshot_times("acme", start=NOW, end=NOW + DAY)) == 8
    await history.add(Snapshot(workspace="acme"), now=NOW + 89 * DAY)
    assert await values(history) == [*range(8)]
    assert await history.snapshot_times("acme", start=NOW, end=NOW + DAY) == ()
    await history.add(Snapshot(workspace="acme"), now=NOW + 91 * DAY)
    # However old, it still holds: without it the inbox would be unknown.
    assert await values(history) == [7]
    assert await history.transitions("acme") == ()


async def test_of_the_snapshots_after_six_hours_one_in_ten_minutes_stays(history: History) -> None:
    for minute in range(0, 20, 2):
        at = NOW + timedelta(minutes=minute)
        await history.add(whole(snapshot(at), at=at), now=at)
    await history.add(Snapshot(workspace="acme"), now=NOW + 8 * HOUR)
    kept = await history.snapshot_times("acme", start=NOW, end=NOW + DAY)
    assert kept == (NOW + timedelta(minutes=8), NOW + timedelta(minutes=18))


@pytest.mark.parametrize("damage", [b"no database at all " * 500, None], ids=["not-a-database", "torn-page"])
async def test_a_damaged_file_is_set_aside_said_and_begun_anew(tmp_path: Path, damage: bytes | None) -> None:
    path = tmp_path / "history.db"
    async with History(parse_url(f"sqlite:///{path}")) as first:
        for hours in range(30):
            at = NOW + hours * HOUR
            await first.add(snapshot(at, score=hours), now=at)
    content = path.read_bytes()
    # SQLite's header of 100 bytes stays: the file opens, and the damage shows in the middle of the work.
    path.write_bytes(damage or content[:100] + b"\xff" * 8092 + content[8192:])
    async with History(parse_url(f"sqlite:///{path}")) as second:
        await second.add(snapshot(NOW), now=NOW)
        assert await values(second) == [90]
        assert "was moved to" in second.notice
    assert (tmp_path / second.notice.split()[8].rstrip(",")).exists()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_an_unresponsive_database_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for url in (
        f"sqlite:///{tmp_path}/file/history.db",
        "postgresql://nobody@127.0.0.1:9/none?connect_timeout=1",
    ):
        async with History(parse_url(url)) as history:
            with pytest.raises(HistoryUnavailable):
                await history.transitions("acme")
