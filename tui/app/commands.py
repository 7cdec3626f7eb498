"""Changes and commands from the dashboard: pause and resume by key, undo, and typed lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from textual.notifications import SeverityLevel

from shared.api.models import Sequence as SequenceModel
from shared.commands import UsageError, invocation, parse
from shared.commands.arguments import Arguments
from shared.commands.pause import Pause
from shared.commands.result import Act, Question, Result
from shared.commands.resume import Resume
from shared.commands.undo import Undo
from shared.domain.card import Card, Tone
from shared.text.sanitize import visible
from tui.app.presenter import Presenter, Ui
from tui.app.replay_control import ReplayControl
from tui.feed.pending_changes import Asked, PendingChanges, Yes, changeable
from tui.feed.workspace_state import WorkspaceState
from tui.model.input.palette_offers import Offer, offers
from tui.model.lists.lines import SequenceLine
from tui.screens.board import BoardScreen
from tui.screens.detail_page import DetailScreen
from tui.screens.dialogs import CardDialog, HoursDialog, question_dialog
from tui.screens.headed import HeadedScreen
from tui.screens.palette import Palette


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """Asks before anything changes, in the workspace that was shown when it was asked for."""

    ui: Ui
    presenter: Presenter
    replay: ReplayControl

    def toggle_chosen(self) -> None:
        """Pause or resume the chosen sequences of the board."""
        self._change(self._chosen())

    def pause_chosen_for_a_time(self) -> None:
        """Ask for how long, then pause the chosen sequences that are active."""
        if ids := self._pausable(self._chosen()):
            self.ui.run_worker(partial(self._ask_hours, ids, self.ui.workspaces.current), group="ask")

    def toggle_shown(self) -> None:
        """Pause or resume the sequence whose page is shown."""
        screen, board = self.ui.app.screen, self.ui.workspaces.current.board
        ref = screen.ref if isinstance(screen, DetailScreen) else None
        lines = board.sequences if board and ref and ref.kind == "sequence" else ()
        self._change([line.sequence for line in lines if ref and line.key == ref.key])

    def pause(self, sequences: Sequence[SequenceModel], state: WorkspaceState) -> None:
        """Pause these sequences of a workspace, after its question."""
        if ids := self._pausable(sequences, state):
            self._start(Pause(ids=ids), state)

    def undo(self) -> None:
        """Take back the newest change, after its question."""
        if self._may_change(is_possible=True):
            self._start(Undo(), self.ui.workspaces.current)

    def _chosen(self) -> list[SequenceModel]:
        chosen = self.ui.board.panels["sequences"].grid.chosen
        return [line.sequence for line in chosen if isinstance(line, SequenceLine)]

    def _change(self, sequences: Sequence[SequenceModel]) -> None:
        status, ids = changeable(sequences)
        if self._may_change(is_possible=bool(ids)):
            arguments = Pause(ids=ids) if status == "paused" else Resume(ids=ids)
            self._start(arguments, self.ui.workspaces.current)

    def _pausable(
        self, sequences: Sequence[SequenceModel], state: WorkspaceState | None = None
    ) -> tuple[str, ...]:
        status, ids = changeable(sequences)
        ids = ids if status == "paused" else ()
        return ids if self._may_change(is_possible=bool(ids), state=state) else ()

    def _may_change(self, *, is_possible: bool, state: WorkspaceState | None = None) -> bool:
        """True where there is something to do here; if not, the person gets a notice."""
        if self.replay.at:
            notice = "You are viewing the past. Press Esc to return to now."
        elif (state or self.ui.workspaces.current).only_reads:
            notice = "This dashboard is read-only."
        elif not is_possible:
            notice = "Select a sequence that is active or paused (key 2)."
        else:
            return True
        self.ui.app.notify(notice, severity="warning")
        return False

    async def _ask_hours(self, ids: tuple[str, ...], state: WorkspaceState) -> None:
        known = {one.id: one.label for one in self._chosen()}
        what = known.get(ids[0], ids[0]) if len(ids) == 1 else f"{len(ids)} sequences"
        if hours := await self.ui.app.push_screen_wait(HoursDialog(what=what, glyphs=self.ui.glyphs)):
            await self._run(invocation(Pause(ids=ids, duration=timedelta(hours=hours))), state, tells=True)

    def _start(self, arguments: Arguments, state: WorkspaceState) -> None:
        """Run what a key means; its answer is told only if it is no success."""
        run = partial(self._run, invocation(arguments), state, tells=True)
        self.ui.run_worker(run, group="commands", exclusive=False)

    async def prompt(self) -> None:
        """Open the palette; done once it takes keys."""
        board = self.ui.board.board
        names = [line.sequence.label for line in board.sequences] if board else []
        page = self.ui.app.screen
        keys = page.keys_here if isinstance(page, HeadedScreen | BoardScreen) else ()

        async def run(chosen: Offer | None) -> None:
            if chosen and chosen.action:
                await page.run_action(chosen.action)
            elif chosen:
                self.run_typed(chosen.line)

        await self.ui.app.push_screen(Palette(offers=partial(offers, sequences=names, keys=keys)), run)

    def run_typed(self, line: str | None) -> None:
        if not line or not line.strip():
            return
        try:
            self.run_pressed(parse(line.strip()))
        except UsageError as error:
            self.ui.run_worker(partial(self._show, error.card), group="commands", exclusive=False)

    def run_pressed(self, asked: Asked | None) -> None:
        if asked:
            run = partial(self._run, asked, self.ui.workspaces.current)
            self.ui.run_worker(run, group="commands", exclusive=False)

    async def _run(self, asked: Asked, state: WorkspaceState, *, tells: bool = False) -> None:
        """Run a command, draw its question, and show the answer; as a notification if another page is open by then.

        `tells`: of a key, whose success is seen on the board.
        """
        changes, screen = state.pending_changes, self.ui.app.screen
        if changes is None:
            return
        done = await self._carry_out(asked, changes)
        if isinstance(done, Question):
            yes = await self._answer(done)
            if yes is None:
                return
            self.ui.board.panels["sequences"].grid.unmark()
            screen = self.ui.app.screen
            done = await self._carry_out(yes, changes)
            if state.feed:
                state.feed.read_now()
        assert isinstance(done, Result)
        card = done.card
        if tells and done.changed and card.tone not in {Tone.WARN, Tone.BAD}:
            return
        if self.ui.app.screen is screen and not tells:
            await self._show(card)
        else:
            self._tell([card])

    async def _carry_out(self, asked: Asked, changes: PendingChanges) -> Result | Question:
        self.ui.board.running = asked.line
        self.ui.app.call_later(self.presenter.show)
        self.presenter.second_passed()
        try:
            return await changes.run(asked)
        finally:
            self.ui.board.running = ""
            self.presenter.second_passed()
            self.presenter.show()

    async def _answer(self, question: Question) -> Yes | None:
        """What a person chooses to have done; None: nothing."""
        dialog = question_dialog(question, glyphs=self.ui.glyphs)
        chosen = await self.ui.app.push_screen_wait(dialog)
        if not chosen:
            return None
        act = question.choices[0].act if chosen is True else chosen.action
        return Yes(act=act, line=question.line) if isinstance(act, Act) else None

    async def _show(self, card: Card) -> None:
        """Show an answer, and carry out its button that is pressed."""
        self.run_pressed(await self.ui.app.push_screen_wait(CardDialog(card, glyphs=self.ui.glyphs)))

    def _tell(self, cards: Sequence[Card]) -> None:
        """One toast for one act."""
        tones = {card.tone for card in cards}
        severity: SeverityLevel = (
            "error" if Tone.BAD in tones else "warning" if Tone.WARN in tones else "information"
        )
        title = visible(cards[0].title) if len(cards) == 1 else f"{len(cards)} commands failed"
        lines = (
            " ".join(map(visible, (card.title, *card.text) if len(cards) > 1 else card.text))
            for card in cards
        )
        self.ui.app.notify(
            "\n".join(lines),
            title=title,
            severity=severity,
            timeout=20,
            markup=False,
        )
