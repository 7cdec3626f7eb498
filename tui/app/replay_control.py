"""Replay: stepping, seeking, comparing with now, and returning to now."""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from functools import partial
from typing import Self

from shared.commands.times import read_moment
from shared.domain.card import Card, Column, Row, Table, Tone
from shared.domain.health import DEFAULT, Thresholds
from shared.domain.local_zone import local, local_zone
from shared.text.formats import show_span
from tui.app.presenter import Presenter, Ui
from tui.feed.history_access import HistoryAccess
from tui.feed.poller import Tick
from tui.model.lists.lines import ChangeLine
from tui.model.workspace import changes
from tui.model.workspace.board import Board, compose
from tui.screens.dialogs import CardDialog
from tui.screens.prompt import Prompt
from tui.theme import formatting

SEEK_HINT = "Go to a time: 14:02, yesterday 9:00, 21 Nov 14:02, or how long ago: 20m, 3h. Esc cancels."


class ReplayControl:
    """Moves through the stored snapshots of the current workspace."""

    def __init__(self, ui: Ui, presenter: Presenter) -> None:
        self._ui = ui
        self._presenter = presenter
        self._replay: Replay | None = None

    @property
    def at(self) -> datetime | None:
        """The moment that is shown; None is now."""
        return self._replay.at if self._replay else None

    def step(self, by: int) -> None:
        self._start(lambda replay: replay.step(by))

    def leap(self, by: timedelta) -> None:
        self._start(lambda replay: replay.leap(by))

    async def ask_for_time(self) -> None:
        await self._ui.app.push_screen(Prompt(sign="at", hint=SEEK_HINT), self._seek)

    def _seek(self, text: str | None) -> None:
        if not text or not text.strip():
            return
        wanted = parse_moment(text, now=self._ui.now(), zone=local_zone())
        if wanted is None:
            self._ui.app.notify(
                f"“{text.strip()}” isn't a time in the past.", severity="warning", markup=False
            )
        else:
            self._start(lambda replay: replay.seek(wanted), wanted=wanted)

    def _start(self, move: Callable[[Replay], Replay], *, wanted: datetime | None = None) -> None:
        self._ui.run_worker(partial(self._go, move, wanted), group="replay")

    async def _go(self, move: Callable[[Replay], Replay], wanted: datetime | None) -> None:
        state = self._ui.workspaces.current
        if state.history is None:
            self._ui.app.notify("No history is recorded here.", severity="warning")
            return
        before = await Replay.open(state.history, now=self._ui.now(), at=self.at)
        replay = move(before)
        if not replay.moments or (self._replay and (replay.place, before.place) == (0, 0)):
            self._ui.app.notify(replay.end_words(self._ui.now()), severity="warning", markup=False)
        elif wanted and (missed := replay.missed(wanted, now=self._ui.now())):
            self._ui.app.notify(missed, severity="warning", timeout=10, markup=False)
        board = None
        if not replay.live:
            board = await replay.board(state.history, like=state.last, thresholds=state.thresholds)
        if state is not self._ui.workspaces.current:
            return
        if board is None:
            self.leave()
            return
        self._replay = replay
        self._ui.board.replay(replay.at, replay.words(self._ui.now()))
        past = tuple(change for change in state.changes if change.at <= replay.at)
        self._ui.board.board = board
        self._ui.board.show(board, changes=past, status=self._presenter.status())

    def show_difference(self) -> None:
        self._ui.run_worker(self._difference, group="difference")

    async def _difference(self) -> None:
        state, at = self._ui.workspaces.current, self.at
        if at is None or state.history is None or state.last is None:
            text = "Go to another time first: [ steps back, @ goes to a time."
            self._ui.app.notify(text, severity="warning", markup=False)
            return
        then = await state.history.snapshot_at(at)
        if then is None:
            return
        now = self._ui.now()
        lines = changes.between(then, state.last.snapshot, at=now)
        card = difference_card(lines, since=at, now=now)
        await self._ui.app.push_screen_wait(CardDialog(card, glyphs=self._ui.glyphs))

    def leave(self) -> None:
        if self._replay:
            self._replay = None
            self._ui.board.replay(None, "")
            self._presenter.show()


FAR = timedelta(hours=48)
"""As long as whole snapshots are kept."""
GAP = timedelta(minutes=20)
"""Between two polls: longer than the ten minutes to which the record is thinned out."""


@dataclass(frozen=True, slots=True, kw_only=True)
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

    def missed(self, wanted: datetime, *, now: datetime) -> str:
        """That nothing was recorded at the wanted time, and which moment is shown instead; empty where one is near."""
        shown = now if self.live else self.at
        if abs(shown - wanted) <= GAP:
            return ""
        instead = "now" if self.live else f"{formatting.moment(shown, now=now)}, the nearest moment with data"
        return f"No data at {formatting.moment(wanted, now=now)}. This is {instead}."

    def words(self, now: datetime) -> str:
        """`REPLAY 14:02:05, 3 h ago (gap of 40 min before)`."""
        mode = f"REPLAY {formatting.moment(self.at, now=now)}{local(self.at).strftime(':%S')}, {formatting.ago(self.at, now=now)}"
        about = [f"gap of {show_span(gap)} {where}" for gap, where in self._gaps() if gap > GAP]
        about += ["history starts here"] if self.place == 0 else []
        about += ["latest poll"] if self.place == len(self.moments) - 1 else []
        return mode + (f" ({', '.join(about)})" if about else "")

    def _gaps(self) -> Iterator[tuple[timedelta, str]]:
        """How long it is to the poll before and to the one after."""
        if self.place > 0:
            yield self.at - self.moments[self.place - 1], "before"
        if self.place + 1 < len(self.moments):
            yield self.moments[self.place + 1] - self.at, "after"

    def end_words(self, now: datetime) -> str:
        if not self.moments:
            return "No history is recorded yet."
        return f"History starts at {formatting.moment(self.moments[0], now=now)}."

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
MOST = 30


def parse_moment(text: str, *, now: datetime, zone: tzinfo) -> datetime | None:
    """The latest `14:02`, `yesterday 9:00`, `21 Nov 14:02`, `monday`, or `3h` ago; None if it isn't a time in the past."""
    typed = text.strip().lower().removesuffix(" ago").removeprefix("-").strip()
    if span := re.fullmatch(r"(\d{1,4}) ?([mhd])[a-z]*", typed):
        return now - int(span[1]) * UNITS[span[2]]
    words = typed.split()
    found, read = read_moment(words) or (None, 0)
    return found.before(now, zone=zone) if found and read == len(words) else None


def difference_card(lines: Sequence[ChangeLine], *, since: datetime, now: datetime) -> Card:
    """What became different from then to now, as a card."""
    title = f"From {formatting.moment(since, now=now)} to now"
    if not lines:
        return Card(title=title, tone=Tone.INFO, text=("No notable changes.",))
    columns = (Column(title="What"), Column(title="Became"))
    rows = tuple(Row(cells=(line.subject, line.text), tone=line.tone) for line in lines[:MOST])
    return Card(title=title, tone=Tone.INFO, table=Table(columns=columns, rows=rows, total=len(lines)))
