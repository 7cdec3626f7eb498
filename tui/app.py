"""The dashboard: a snapshot comes in as one message and is shown; what people ask goes out through `hands`."""

from __future__ import annotations

import getpass
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import ClassVar, Protocol

from textual import on, work
from textual.app import App
from textual.binding import BindingType
from textual.message import Message
from textual.worker import Worker, WorkerState

from shared.card import Card, Tone
from shared.desk import Desk, open_client
from shared.plain import visible
from shared.records import Actor, Records
from shared.settings import Settings
from tui import details
from tui.hands import Hands, Proof, Wish, run_at, wishes_for
from tui.lines import ChangeLine, SequenceLine
from tui.look import PALETTES, UNICODE, Glyphs, theme
from tui.poller import Poller, Tick
from tui.screens.board import BoardScreen, names
from tui.screens.card import CardScreen
from tui.screens.confirm import Ask
from tui.screens.prompt import Prompt, offers

REMEMBERED = 200
"""Changes that are kept for the list of what changed."""
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
    ) -> None:
        super().__init__()
        self.now = now
        self._feed = feed
        self._hands = hands
        self._glyphs = glyphs
        self._changes: deque[ChangeLine] = deque(maxlen=REMEMBERED)
        self.last: Tick | None = None
        self.board_screen = BoardScreen(glyphs=glyphs, workspace=workspace, notice=notice)
        for name in PALETTES:
            self.register_theme(theme(name))
        self.theme = THEMES[0]

    def on_mount(self) -> None:
        """Show the empty board at once, then let the ticks come."""
        self.push_screen(self.board_screen)
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
        self.last = tick
        self._changes.extendleft(tick.changes)
        if self._hands:
            for proof in self._hands.settle(tick.snapshot):
                self._prove(proof)
        self._show()

    def _show(self) -> None:
        tick = self.last
        if tick is None or not self.board_screen.is_mounted:
            return
        board = self._hands.mark(tick.board) if self._hands else tick.board
        with self.batch_update():
            self.board_screen.show(board, changes=tuple(self._changes), beats=tick.beats, now=self.now())

    def _second(self) -> None:
        if self.board_screen.is_mounted:
            self.board_screen.tick(self.now())

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

    def _want_theme(self) -> None:
        at = THEMES.index(self.theme) if self.theme in THEMES else -1
        self.theme = THEMES[(at + 1) % len(THEMES)]

    def _want_toggle(self) -> None:
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
        self.notify("Nothing to write to here.", severity="warning")

    def _want_wall(self) -> None:
        """Not here yet."""

    # -- faults of our own -----------------------------------------------------------------------------

    @on(Worker.StateChanged)
    def _worker_ended(self, event: Worker.StateChanged) -> None:
        """A worker that failed is told, and the screen lives."""
        if event.state is WorkerState.ERROR and event.worker.error:
            self.log.error(event.worker.error)
            self.notify("That went wrong inside; the log tells more.", severity="error")


async def run_dashboard(
    settings: Settings,
    *,
    records: Records | None = None,
    wall: bool = False,
    notice: str = "",
    workspace: str | None = None,
) -> int:
    """Show the dashboard until somebody leaves it; returns the exit code."""
    place = settings.workspace(workspace)
    async with open_client(settings, place) as client:
        desk = Desk(
            workspace=place,
            client=client,
            actor=Actor(name=getpass.getuser(), face="dashboard"),
            records=records,
            now=utc_now,
            confirmed=True,
        )
        poller = Poller(
            client=client,
            workspace=place.name,
            poll_seconds=settings.poll_seconds,
            now=utc_now,
            thresholds=place.thresholds,
        )
        app = DashboardApp(
            workspace=place.name, feed=poller, hands=Hands(partial(run_at, desk), now=utc_now), notice=notice
        )
        await app.run_async()
    return app.return_code or 0
