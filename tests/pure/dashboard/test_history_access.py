"""What a dashboard that starts again takes over from the one before."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from shared.api.models import Inbox
from shared.domain.health import DEFAULT
from shared.history.history import History
from shared.records import HistoryUnavailable, Transition
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


class Asked:
    """A history that has these answers, or none, and notes how many hours back it is asked for how much."""

    notice = ""

    def __init__(self, **answers: Any) -> None:
        self.answers, self.asked = answers, list[tuple[str, float, int]]()

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        async def answer(
            *_: object, start: datetime = NOW, points: int = 0, limit: int = 0, **__: object
        ) -> Any:
            hours, found = (NOW - start) / HOUR, self.answers.get(name, {})
            if points or limit:
                self.asked.append((name, hours, points or limit))
            if isinstance(found, Exception):
                raise found
            return found(hours) if callable(found) else found

        return answer


def access(store: Asked) -> HistoryAccess:
    return HistoryAccess(store, workspace="acme")  # type: ignore[arg-type] # as much as is asked


async def test_no_more_is_asked_of_the_history_than_is_shown() -> None:
    chart, known = {"ann": (1.0, 2.0, 3.0)}, 1
    store = Asked(sparklines=lambda hours: chart if hours < known else {"ann": (1.0, 2.0)})
    history = access(store)
    assert (await history.recall(now=NOW)).trends == {}
    known = 25
    assert await history.trends(now=NOW) == chart
    await history.keep(account(), now=NOW)
    for points in (3, 8, 480, 481):
        about = PageRef(kind="domain", key="useacme.example")
        await history.health(about, span=timedelta(days=14), points=points, now=NOW, thresholds=DEFAULT)
    day = {"start": NOW - timedelta(hours=24), "end": NOW}
    await history.incident(box(81.0), (), **day, fresh=True, thresholds=DEFAULT)
    assert store.asked == [
        *(("sparklines", hours, 10) for hours in (336, 24, 1)),
        ("transitions", 48, 100),
        *(("sparklines", hours, 10) for hours in (336, 24)),
        ("transitions", 0, 100),
        *(("health", 336, points) for points in (8, 8, 480, 480)),
        ("transitions", 24, 50_000),
        ("transitions", 24, 2_000),
    ]


async def test_lanes_go_up_to_a_reading_that_has_just_ended_and_no_further_back_than_changes_are_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = Asked(domains_known_from={"useacme.example": NOW - 9 * HOUR})

    async def hours(*read: tuple[float, float], fresh: bool = True) -> list[float]:
        """The ends of segments, and the beginning of the whole, in hours before now; `read` is what was read."""
        store.answers["covered"] = [(NOW - began * HOUR, NOW - ended * HOUR) for began, ended in read]
        about: dict[str, Any] = {"start": NOW - 6 * HOUR, "end": NOW, "thresholds": DEFAULT}
        incident = await access(store).incident(box(81.0), (), fresh=fresh, **about)
        ends = [end for lane in incident.lanes for one in lane.segments for end in (one.start, one.end)]
        return [(NOW - at) / HOUR for at in (*ends, incident.start)]

    for ended, end in ((1 / 30, 0), (1 / 20, 1 / 20)):
        assert await hours((8, 7), (5, ended)) == [5, end, 5]
        assert await hours((8, 7), (5, ended), fresh=False) == [5, ended, 5]
    assert await hours((8, 0)) == [6, 0, 6]
    assert await hours((5, 4), (3, 2), (1, 0)) == [5, 4, 3, 2, 1, 0, 5]
    key = box(1)[0].email
    store.answers["transitions"] = tuple(
        Transition(
            at=NOW - ago * HOUR, kind="inbox", key=key, label="", field="health", before=was, after=now
        )
        for ago, was, now in ((2, "bad", "healthy"), (3, "healthy", "bad"))
    )
    assert await hours((8, 0)) == [6, 3, 3, 2, 2, 0, 6]
    monkeypatch.setattr(history_access, "MOST_CHANGES", 2)
    assert await hours((8, 0)) == [3, 2, 2, 0, 3]


async def test_a_history_that_fails_while_it_runs_says_so() -> None:
    full = HistoryUnavailable("disk full")
    history = access(Asked(add=full, transitions=full))
    assert await history.keep(account(), now=NOW) == ()
    assert history.notice == "No history: disk full"
