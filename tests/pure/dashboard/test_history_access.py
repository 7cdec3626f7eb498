"""What a dashboard that starts again takes over from the one before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from shared.api.models import Inbox
from shared.domain.health import DEFAULT
from shared.domain.snapshot import ProblemStart, Snapshot
from shared.history.history import History
from shared.records.records import HistoryUnavailable, Sample, Transition
from shared.storage.database import parse_url
from tests.kit.snapshots import NOW, account, reading
from tui.feed import history_access
from tui.feed.history_access import HistoryAccess
from tui.model.lines import PageRef

HOUR = timedelta(hours=1)


def box(score: float) -> tuple[Inbox, ...]:
    return (Inbox(email="ann@useacme.example", health_score=score, daily_limit=40, status="active"),)


async def test_starting_again_changes_nothing_and_what_another_saw_is_told_once(tmp_path: Path) -> None:
    url, later = parse_url(f"sqlite:///{tmp_path}/history.db"), NOW + timedelta(seconds=70)
    kept = replace(account(), inboxes=reading(box(81.0)))
    async with History(url) as before:
        await before.add(kept, now=NOW)
        # The last snapshot is kept once a minute: what was read since is in the samples only.
        soon = NOW + timedelta(seconds=20)
        await before.add(replace(kept, inboxes=reading(box(79.0), at=soon)), now=soon)
        assert [change.after for change in await before.transitions("acme")] == ["at risk"]
    async with History(url) as again:
        history = HistoryAccess(again, workspace="acme")
        past = await history.recall(now=later)
        assert past.snapshot
        assert await history.keep(past.snapshot, now=later) == ()
        read = replace(past.snapshot, inboxes=reading(box(79.0), at=later))
        assert await history.keep(read, now=later) == (), "it was at risk before, and is"
        # What another dashboard writes first, ours learns from the history.
        for status, text in (("resting", "is resting"), ("warming", "is warming"), ("active", "")):
            later += timedelta(minutes=1)
            boxes = tuple(replace(one, status=status) for one in box(79.0))
            read = replace(past.snapshot, inboxes=reading(boxes, at=later))
            await HistoryAccess(again, workspace="acme").keep(read, now=later)
            assert "".join(mark.text for mark in await history.keep(read, now=later)) == text
            assert await history.keep(read, now=later) == ()


class Asked(History):
    """A history that notes what it is asked for, and has a chart as far back as `known`."""

    def __init__(self, known: timedelta) -> None:
        self.known, self.asked = known, list[tuple[str, Any]]()
        self.read: tuple[tuple[datetime, datetime], ...] = ()
        self.moved: tuple[Transition, ...] = ()
        self.notice = ""

    async def snapshot_at(self, workspace: str, at: datetime) -> Snapshot | None:
        return None

    async def sparklines(self, workspace: str, **about: Any) -> Mapping[str, tuple[float, ...]]:
        span = about["end"] - about["start"]
        self.asked.append((f"{span / timedelta(hours=1):g} h", about["points"]))
        return {"ann": (1.0, 2.0, 3.0) if span <= self.known else (1.0, 2.0)}

    async def transitions(self, workspace: str, **about: Any) -> tuple[Transition, ...]:
        back = (NOW - about["start"]) / timedelta(hours=1)
        self.asked.append((f"changes {back:g} h", about["limit"]))
        return self.moved

    async def problems(self, workspace: str) -> tuple[ProblemStart, ...]:
        return ()

    async def add(self, snapshot: Snapshot, *, now: datetime) -> None:
        pass

    async def health(self, workspace: str, **about: Any) -> tuple[Sample, ...]:
        self.asked.append((about["kind"], about["points"]))
        return ()

    async def covered(self, workspace: str, **about: Any) -> tuple[tuple[datetime, datetime], ...]:
        return self.read

    async def domains_known_from(self, workspace: str, **about: Any) -> Mapping[str, datetime]:
        return {"useacme.example": NOW - 9 * HOUR} if self.read else {}


async def test_no_more_is_asked_of_the_history_than_is_shown() -> None:
    store = Asked(known=timedelta(minutes=1))
    history = HistoryAccess(store, workspace="acme")
    assert (await history.recall(now=NOW)).trends == {}
    assert store.asked == [("336 h", 10), ("24 h", 10), ("1 h", 10), ("changes 48 h", 100)]
    store.known, store.asked = timedelta(hours=24), []
    assert await history.trends(now=NOW) == {"ann": (1.0, 2.0, 3.0)}
    assert store.asked == [("336 h", 10), ("24 h", 10)]
    store.asked = []
    await history.keep(account(), now=NOW)
    for points in (3, 8, 480, 481):
        about = PageRef(kind="domain", key="useacme.example")
        await history.health(about, span=timedelta(days=14), points=points, now=NOW, thresholds=DEFAULT)
    day = {"start": NOW - timedelta(hours=24), "end": NOW}
    await history.incident(box(81.0), (), **day, fresh=True, thresholds=DEFAULT)
    assert store.asked == [
        ("changes 0 h", 100),
        *(("domain", points) for points in (8, 8, 480, 480)),
        ("changes 24 h", 50_000),
        ("changes 24 h", 2_000),
    ]


async def test_lanes_go_up_to_a_reading_that_has_just_ended_and_no_further_back_than_changes_are_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = Asked(known=HOUR)
    history = HistoryAccess(store, workspace="acme")

    async def hours(*, fresh: bool = True) -> list[float]:
        """The ends of segments, and the beginning of the whole, in hours before now."""
        about: dict[str, Any] = {"start": NOW - 6 * HOUR, "end": NOW, "thresholds": DEFAULT}
        incident = await history.incident(box(81.0), (), fresh=fresh, **about)
        ends = [end for lane in incident.lanes for one in lane.segments for end in (one.start, one.end)]
        return [(NOW - at) / HOUR for at in (*ends, incident.start)]

    for ended, end in ((1 / 30, 0), (1 / 20, 1 / 20)):
        store.read = ((NOW - 8 * HOUR, NOW - 7 * HOUR), (NOW - 5 * HOUR, NOW - ended * HOUR))
        assert await hours() == [5, end, 5]
        assert await hours(fresh=False) == [5, ended, 5]
    store.read = ((NOW - 8 * HOUR, NOW),)
    assert await hours() == [6, 0, 6]
    email = box(1)[0].email
    store.moved = tuple(
        Transition(
            at=NOW - n * HOUR, kind="inbox", key=email, label="", field="health", before=was, after=now
        )
        for n, was, now in ((2, "bad", "healthy"), (3, "healthy", "bad"))
    )
    assert await hours() == [6, 3, 3, 2, 2, 0, 6]
    monkeypatch.setattr(history_access, "MOST_CHANGES", 2)
    assert await hours() == [3, 2, 2, 0, 3]


async def test_a_history_that_fails_while_it_runs_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: Any, **__: Any) -> None:
        raise HistoryUnavailable("disk full")

    history = HistoryAccess(Asked(known=HOUR), workspace="acme")
    monkeypatch.setattr(Asked, "add", fail)
    monkeypatch.setattr(Asked, "transitions", fail)
    assert await history.keep(account(), now=NOW) == ()
    assert history.notice == "No history: disk full"
