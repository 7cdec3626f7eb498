"""The screen as a whole: a snapshot comes in as one message and is shown; what people ask goes out through `hands`."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar, Protocol

from textual import on, work
from textual.app import App
from textual.binding import BindingType
from textual.message import Message
from textual.worker import Worker, WorkerState

from shared.card import Card, Tone
from shared.plain import visible
from tui import alarms, details, export
from tui.hands import Hands, Proof, Wish, wishes_for
from tui.lines import ChangeLine, SequenceLine
from tui.look import PALETTES, UNICODE, Glyphs, theme
from tui.memory import Memory
from tui.poller import Tick
from tui.replay import Replay
from tui.screens.board import BoardScreen, names
from tui.screens.card import CardScreen
from tui.screens.confirm import Ask
from tui.screens.prompt import Prompt, offers
from tui.screens.wall import WallScreen

logger = logging.getLogger(__name__)

REMEMBERED = 200
"""Changes that are kept for the list of what changed."""
MOST_ALARMS = 20
NIGHT_FROM, NIGHT_UNTIL = 22, 6
"""Hours of the day where the wall hangs."""
THEMES = ("night", "day", "contrast")
SEVERITY = {Tone.BAD: "error", Tone.WARN: "warning"}


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


class DashboardApp(App[int]):
    """Screens, themes and workers; `feed` and `hands` may be missing in pictures and tests."""

    CSS_PATH: ClassVar[str] = "app.tcss"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = []

    @dataclass
    class Ticked(Message):
        """A new board."""

        tick: Tick

        def can_replace(self, message: Message) -> bool:
            """Never: each carries its own changes."""
            return False

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
    ) -> None:
        super().__init__()
        self.now = now
        self._feed = feed
        self._hands = hands
        self._glyphs = glyphs
        self._memory = memory
        self._wall_first = wall
        self._folder = folder
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

    # -- wishes out ------------------------------------------------------------------------------------

    @on(BoardScreen.Wanted)
    def _wanted(self, message: BoardScreen.Wanted) -> None:
        getattr(self, f"_want_{message.what}")()

    def _want_refresh(self) -> None:
        if self._feed:
            self._feed.hurry()

    def wear(self, name: str) -> None:
        """Another theme, where there is one of that name."""
        if name in PALETTES:
            self.theme = name

    def _want_theme(self) -> None:
        at = THEMES.index(self.theme) if self.theme in THEMES else -1
        self.theme = THEMES[(at + 1) % len(THEMES)]

    def _want_toggle(self) -> None:
        if self._replay:
            self.notify("This is the past; esc goes back to now.", severity="warning")
            return
        if self._hands is None:
            self.notify("This dashboard only reads.", severity="warning")
            return
        chosen = self.board_screen.panels["sequences"].grid.chosen
        wishes = wishes_for(line.sequence for line in chosen if isinstance(line, SequenceLine))
        if wishes:
            self._ask(wishes)
        else:
            self.notify("Select a sequence that is active or paused (key 2).", severity="warning")

    def _want_undo(self) -> None:
        wishes = self._hands.undo() if self._hands else ()
        if wishes:
            self._carry_out(wishes)
        else:
            self.notify("There is nothing to take back.", severity="warning")

    @work(exclusive=True, group="ask", exit_on_error=False)
    async def _ask(self, wishes: Sequence[Wish]) -> None:
        verb = "Pause" if wishes[0].status == "paused" else "Resume"
        labels = tuple(wish.sequence.label for wish in wishes)
        what = f"“{labels[0]}”" if len(labels) == 1 else f"{len(labels)} sequences"
        effect = (
            "It sends nothing more until it is resumed."
            if verb == "Pause"
            else "It goes on where it stopped."
        )
        text = (effect,) if len(labels) == 1 else (*labels[:12], *(("…",) if len(labels) > 12 else ()))
        if await self.push_screen_wait(Ask(title=f"{verb} {what}?", text=text, yes=verb)):
            self.board_screen.panels["sequences"].grid.unmark()
            self._carry_out(wishes)

    @work(group="acts", exit_on_error=False)
    async def _carry_out(self, wishes: Sequence[Wish]) -> None:
        if self._hands is None:
            return
        work = self._hands.carry_out(wishes)
        self.call_later(self._show)
        for card in await work:
            if card.tone in SEVERITY:
                self._tell(card)
        if self._feed:
            self._feed.hurry("sequences")
        self._show()

    def _tell(self, card: Card) -> None:
        severity = "error" if card.tone is Tone.BAD else "warning"
        self.notify(
            " ".join(map(visible, card.text)),
            title=visible(card.title),
            severity=severity,  # type: ignore[arg-type] # the framework's literals
            timeout=20,
            markup=False,
        )

    def _want_filter(self) -> None:
        grid = self.board_screen.grid
        before = grid.arrangement

        def changed(text: str) -> None:
            grid.ask(details.finding(before, text))

        def done(text: str | None) -> None:
            grid.ask(before if text is None else details.finding(before, text))

        hint = "Words that must all occur; !word leaves out. Enter keeps the filter, esc drops it."
        self.push_screen(Prompt(sign="filter", hint=hint, value=before.find, changed=changed), done)

    def _want_commands(self) -> None:
        known = tuple(names(self.board_screen.board))
        hint = "A command, as in Slack and the shell. Tab completes, enter runs, esc leaves."
        prompt = Prompt(
            sign="command",
            hint=hint,
            offer=lambda typed: offers(typed, sequences=known, keys=details.KEYS),
        )
        self.push_screen(prompt, self._typed)

    def _typed(self, line: str | None) -> None:
        if line and line.strip():
            self._run_line(line.strip())

    @work(group="commands", exit_on_error=False)
    async def _run_line(self, line: str) -> None:
        while line and self._hands:
            asked = details.question(line)
            if asked and not await self.push_screen_wait(asked):
                return
            card = await self._hands.run(line)
            if self._feed and asked:
                self._feed.hurry()
            answer = await self.push_screen_wait(CardScreen(card, glyphs=self._glyphs))
            line = answer or ""

    def _want_details(self) -> None:
        line = self.board_screen.grid.line
        board = self.board_screen.board
        if line and board:
            card = details.card_of(line, board=board, changes=tuple(self._changes))
            self.push_screen(CardScreen(card, glyphs=self._glyphs), self._typed)

    def _want_copy(self) -> None:
        line = self.board_screen.grid.line
        if line:
            self.copy_to_clipboard(visible(line.key))
            self.notify(f"Copied: {visible(line.key)}", timeout=3, markup=False)

    def _want_export(self) -> None:
        """The list as CSV, the board as text, the screen as a picture."""
        board, grid = self.board_screen.board, self.board_screen.grid
        if board is None or self._folder is None:
            self.notify("There is nothing to write, or nowhere to write to.", severity="warning")
            return
        try:
            made = export.write(
                self._folder,
                board=board,
                name=self.board_screen.active,
                shown=grid.shown,
                picture=self.export_screenshot(),
                now=self.now(),
                glyphs=self._glyphs,
            )
        except OSError as error:
            self.notify(f"Not written: {error.strerror}", severity="error", markup=False)
            return
        self.notify(f"Written: {', '.join(made)} in {self._folder}", timeout=12, markup=False)

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
