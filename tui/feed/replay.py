"""Looking back: the snapshots that were kept, one after another, in the same panels."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Self

from shared.domain.health import DEFAULT, Thresholds
from tui.feed.history_access import HistoryAccess
from tui.feed.tick import Tick
from tui.model.board import Board, compose
from tui.theme import formatting

FAR = timedelta(hours=48)
"""As long as whole snapshots are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Moments, the oldest first, and which of them is looked at; one past the last is now."""

    moments: tuple[datetime, ...]
    place: int

    @classmethod
    async def open(cls, history: HistoryAccess, *, now: datetime) -> Self:
        moments = await history.moments(start=now - FAR, end=now)
        return cls(moments=moments, place=len(moments))

    @property
    def live(self) -> bool:
        return self.place >= len(self.moments)

    @property
    def at(self) -> datetime:
        return self.moments[min(self.place, len(self.moments) - 1)]

    def step(self, by: int) -> Replay:
        return replace(self, place=min(max(self.place + by, 0), len(self.moments)))

    def leap(self, by: timedelta) -> Replay:
        if not self.moments:
            return self
        return self.seek(self.at + by)

    def seek(self, wanted: datetime) -> Replay:
        """As near as possible to a time; now, when that is later than all that was kept."""
        if not self.moments or wanted > self.moments[-1]:
            return replace(self, place=len(self.moments))
        distances = [abs((moment - wanted).total_seconds()) for moment in self.moments]
        return replace(self, place=distances.index(min(distances)))

    def words(self, now: datetime) -> str:
        """`REPLAY 14:02, 3 h ago`."""
        return f"REPLAY {formatting.moment(self.at, now=now)}, {formatting.ago(self.at, now=now)}"

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
