"""Moments of the past: those that were kept, which of them is shown, and how it was called. Nothing changes from there."""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_left
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo
from typing import Self

from shared.commands.times import read_moment
from shared.domain.health import DEFAULT, Thresholds
from shared.domain.local_zone import local
from shared.frozen import frozen
from tui.feed.history_access import HistoryAccess
from tui.feed.poller import Tick
from tui.model.board import Board, compose
from tui.theme.words import ago, clock

FAR = timedelta(hours=48)
"""Whole snapshots are kept so long."""
GAP = timedelta(minutes=20)
"""The most between two polls: longer than the ten minutes to which the record is thinned out."""


@frozen
class Replay:
    """Moments, the oldest first, and which of them is looked at; one past the last is now."""

    moments: tuple[datetime, ...]
    place: int

    @classmethod
    async def open(cls, history: HistoryAccess, *, now: datetime, at: datetime | None = None) -> Self:
        """Every poll that was kept, looked at from `at`, else from now."""
        moments = await history.moments(start=now - FAR, end=now)
        return cls(moments=moments, place=bisect_left(moments, at) if at else len(moments))

    @property
    def live(self) -> bool:
        return self.place >= len(self.moments)

    @property
    def at(self) -> datetime:
        return self.moments[min(self.place, len(self.moments) - 1)]

    def step(self, by: int) -> Replay:
        return replace(self, place=min(max(self.place + by, 0), len(self.moments)))

    def seek(self, wanted: datetime, *, now: datetime) -> Replay:
        """The moment nearest to a time, of those that were kept and now."""
        distances = [abs(moment - wanted) for moment in (*self.moments, now)]
        return replace(self, place=distances.index(min(distances)))

    def missed(self, wanted: datetime, *, now: datetime) -> str:
        """That nothing was recorded at the wanted time, and which moment is shown instead; empty where one is near."""
        moment = now if self.live else self.at
        if abs(moment - wanted) <= GAP:
            return ""
        instead = "now" if self.live else f"{clock(moment, now=now)}, the nearest moment with data"
        return f"No data at {clock(wanted, now=now)}. This is {instead}."

    def words(self, now: datetime) -> str:
        """`REPLAY 14:02:05, 3 h ago`."""
        return f"REPLAY {clock(self.at, now=now)}{local(self.at).strftime(':%S')}, {ago(self.at, now=now)}"

    def end_words(self, now: datetime) -> str:
        if not self.moments:
            return "No history is recorded yet."
        return f"History starts at {clock(self.moments[0], now=now)}."

    async def board(
        self, history: HistoryAccess, *, like: Tick | None, thresholds: Thresholds = DEFAULT
    ) -> Board | None:
        """The board of that moment, with its rows' charts as they were; None when its snapshot is gone."""
        snapshot = await history.snapshot_at(self.at)
        if snapshot is None:
            return None
        stamps = like.board.stamps if like else {}
        intervals = {name: stamp.interval for name, stamp in stamps.items()}
        trends = await history.trends(now=self.at)
        return await asyncio.to_thread(
            compose, snapshot, intervals=intervals, trends=trends, thresholds=thresholds
        )


UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


def parse_moment(text: str, *, now: datetime, zone: tzinfo) -> datetime | None:
    """The latest `14:02`, `yesterday 9:00`, `21 Nov 14:02`, `monday`, or `3h` ago; None if it isn't a time in the past."""
    typed = text.strip().lower().removesuffix(" ago").removeprefix("-").strip()
    if span := re.fullmatch(r"(\d{1,4}) ?([mhd])[a-z]*", typed):
        return now - int(span[1]) * UNITS[span[2]]
    words = typed.split()
    found = read_moment(words)
    return found.before(now, zone=zone) if found else None
