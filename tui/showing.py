"""What is seen: a tick comes in as one message and is shown, on the board, on the wall, or not while the past is."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar, Protocol

from textual import on, work
from textual.app import App
from textual.binding import BindingType
from textual.message import Message
from textual.worker import Worker, WorkerState

from shared.health import DEFAULT, Thresholds
from shared.plain import visible
from tui import alarms
from tui.hands import Hands, Proof
from tui.lines import ChangeLine
from tui.look import PALETTES, UNICODE, Glyphs, theme
from tui.memory import Memory
from tui.replay import Replay
from tui.screens.board import BoardScreen
from tui.screens.wall import WallScreen
from tui.tick import Tick

logger = logging.getLogger(__name__)

REMEMBERED = 200
"""Changes that are kept for the list of what changed."""
MOST_ALARMS = 20
NIGHT_FROM, NIGHT_UNTIL = 22, 6
"""Hours of the day where the wall hangs."""
THEMES = ("night", "day", "contrast")


class Feed(Protocol):
    """Where ticks come from."""

    def start(self, deliver: Callable[[Tick], object]) -> None:
        """Begin."""

    def hurry(self, *names: str) -> None:
        """Read now."""

    async def aclose(self) -> None:
        """End."""


def utc_now() -> datetime:
    """The clock of the real dashboard."""
    return datetime.now(UTC)


class ShowingApp(App[int]):
    """What is seen: boards as they come, the wall, alarms, other moments; `feed` and `hands` may be missing."""

    CSS_PATH: ClassVar[Path] = Path(__file__).with_name("app.tcss")
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = []

    @dataclass
    class Ticked(Message):
        """A new board."""

        tick: Tick

    def __init__(
        self,
        *,
        workspace: str,
        feed: Feed | None = None,
        hands: Hands | None = None,
        now: Callable[[], datetime] = utc_now,
        notice: str = "",
        glyphs: Glyphs = UNICODE,
        memory: Memory | None = None,
        wall: bool = False,
        folder: Path | None = None,
        thresholds: Thresholds = DEFAULT,
    ) -> None:
        super().__init__()
        self.now = now
        self._feed = feed
        self._hands = hands
        self._glyphs = glyphs
        self._memory = memory
        self._wall_first = wall
        self._folder = folder
        self._bad = thresholds.bad
        self._replay: Replay | None = None
        self._changes: deque[ChangeLine] = deque(maxlen=REMEMBERED)
        self.last: Tick | None = None
        self._alarms: tuple[str, ...] = ()
        self._day_theme = THEMES[0]
        self.board_screen = BoardScreen(glyphs=glyphs, workspace=workspace, notice=notice)
        self.wall = WallScreen(glyphs=glyphs, workspace=workspace, notice=notice, began=now())
        for name in PALETTES:
            self.register_theme(theme(name))
        self.theme = THEMES[0]

    def on_mount(self) -> None:
        """Show the empty board at once, then let the ticks come."""
        self.push_screen(self.board_screen)
        self.install_screen(self.wall, "wall")
        if self._wall_first:
            self._want_wall()
        self.set_interval(1.0, self._second, name="clock")
        if self._feed:
            self._feed.start(lambda tick: self.post_message(self.Ticked(tick)))

    async def on_unmount(self) -> None:
        """Nothing of ours runs on after the screen is gone."""
        if self._feed:
            await self._feed.aclose()

    # -- ticks in --------------------------------------------------------------------------------------

    @on(Ticked)
    def _ticked(self, message: Ticked) -> None:
        tick = message.tick
        self._raise_alarms(tick)
        self.last = tick
        self._changes.extendleft(reversed(tick.changes))
        if self._hands:
            for proof in self._hands.settle(tick.snapshot):
                self._prove(proof)
        self._show()

    def _show(self) -> None:
        """The live board, unless another moment is being looked at."""
        tick = self.last
        if tick is None or self._replay or not self.board_screen.is_mounted:
            return
        board = self._hands.mark(tick.board) if self._hands else tick.board
        changed = tuple(self._changes)
        with self.batch_update():
            self.board_screen.show(board, changes=changed, beats=tick.beats, now=self.now())
            if isinstance(self.screen, WallScreen) and self.screen.is_mounted:
                self.screen.show(
                    board, changes=changed, beats=tick.beats, alarms=self._alarms, now=self.now()
                )

    def _second(self) -> None:
        """Ages and clocks; only of what can be seen."""
        if isinstance(self.screen, WallScreen) and self.screen.is_mounted:
            self.screen.tick(self.now(), alarms=self._alarms)
            self._dim()
        elif self.board_screen.is_mounted:
            self.board_screen.tick(self._replay.at if self._replay else self.now(), alarms=self._alarms)

    def wear(self, name: str) -> None:
        """Another theme, where there is one of that name."""
        if name in PALETTES:
            self.theme = name

    # -- alarms and the wall ---------------------------------------------------------------------------

    def acknowledge(self) -> None:
        """Somebody has seen the alarms."""
        self._alarms = ()
        self._second()

    def _want_seen(self) -> None:
        self.acknowledge()

    def _raise_alarms(self, tick: Tick) -> None:
        """On the edge only: once told, it stays until seen, and is not told again."""
        found = alarms.edges(self.last.board if self.last else None, tick.board)
        if found:
            self._alarms = (*found, *self._alarms)[:MOST_ALARMS]
            self.bell()

    def _want_wall(self) -> None:
        self._day_theme = self.theme
        self.push_screen(self.wall, lambda _: self.wear(self._day_theme))
        self.wall.call_after_refresh(self._show)

    def _dim(self) -> None:
        """At night the wall is dimmed, unless somebody chose the day's colours."""
        hour = self.now().astimezone().hour
        night = hour >= NIGHT_FROM or hour < NIGHT_UNTIL
        wanted = "dimmed" if night and self._day_theme == "night" else self._day_theme
        if self.theme != wanted:
            self.theme = wanted

    def _prove(self, proof: Proof) -> None:
        label = visible(proof.wish.sequence.label)
        if proof.holds:
            self.notify(f"{label} is {proof.status}; u takes it back", timeout=8, markup=False)
            return
        what = proof.status or "gone"
        self.notify(f"{label} is {what}, not {proof.wish.status}", severity="error", timeout=20, markup=False)

    # -- other moments ---------------------------------------------------------------------------------

    def _want_earlier(self) -> None:
        self._look(lambda replay: replay.step(-1))

    def _want_later(self) -> None:
        self._look(lambda replay: replay.step(1))

    def _want_hour_earlier(self) -> None:
        self._look(lambda replay: replay.leap(-timedelta(hours=1)))

    def _want_hour_later(self) -> None:
        self._look(lambda replay: replay.leap(timedelta(hours=1)))

    @work(exclusive=True, group="replay", exit_on_error=False)
    async def _look(self, move: Callable[[Replay], Replay]) -> None:
        if self._memory is None:
            self.notify("There is no history here.", severity="warning")
            return
        replay = self._replay or await Replay.open(self._memory, now=self.now())
        replay = move(replay)
        board = None if replay.live else await replay.board(self._memory, like=self.last)
        if board is None:
            self._want_live()
            return
        self._replay = replay
        self.board_screen.replay(replay.words(self.now()))
        self.board_screen.show(board, changes=(), beats=0, now=replay.at)

    def _want_live(self) -> None:
        """Back to now."""
        if self._replay or self.board_screen.replaying:
            self._replay = None
            self.board_screen.replay("")
            self._show()

    # -- faults of our own -----------------------------------------------------------------------------

    @on(Worker.StateChanged)
    def _worker_ended(self, event: Worker.StateChanged) -> None:
        """A worker that failed is told, and the screen lives."""
        if event.state is WorkerState.ERROR and event.worker.error:
            logger.error("a worker failed", exc_info=event.worker.error)
            self.notify("That went wrong inside; the log tells more.", severity="error")
