"""Changes and commands from the dashboard: pause and resume by key, undo, and typed lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from textual.notifications import SeverityLevel

from shared.api.models import Sequence as SequenceModel
from shared.commands import Invocation, UsageError, invocation, parse
from shared.domain.card import Card, Tone
from shared.text.sanitize import visible
from tui.app.presenter import Presenter, Ui
from tui.app.replay_control import ReplayControl
from tui.feed.pending_changes import StatusChange, status_changes_for
from tui.feed.workspace_state import WorkspaceState
from tui.model.input.palette_offers import Offer, offers
from tui.model.lists.lines import SequenceLine
from tui.screens.board import BoardScreen
from tui.screens.detail_page import DetailScreen
from tui.screens.dialogs import CardDialog, ConfirmDialog, HoursDialog, confirmation_of, question_of
from tui.screens.headed import HeadedScreen
from tui.screens.palette import Palette
from tui.theme import formatting

MOST_LABELS = 12


def _end_of(hours: int, now: datetime) -> str:
    return formatting.moment(now + timedelta(hours=hours), now=now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """Asks before anything changes, in the workspace that was shown when it was asked for."""

    ui: Ui
    presenter: Presenter
    replay: ReplayControl

    def toggle_chosen(self) -> None:
        """Pause or resume the chosen sequences of the board."""
        self._change(status_changes_for(self._chosen()))

    def pause_chosen_for_a_time(self) -> None:
        """Ask for how long, then pause the chosen sequences that are active."""
        requested = [change for change in status_changes_for(self._chosen()) if change.status == "paused"]
        if self._may_change(requested):
            self.ui.run_worker(partial(self._ask_hours, requested, self.ui.workspaces.current), group="ask")

    def toggle_shown(self) -> None:
        """Pause or resume the sequence whose page is shown."""
        screen, board = self.ui.app.screen, self.ui.workspaces.current.board
        ref = screen.ref if isinstance(screen, DetailScreen) else None
        lines = board.sequences if board and ref and ref.kind == "sequence" else ()
        self._change(status_changes_for(line.sequence for line in lines if ref and line.key == ref.key))

    def pause(self, sequences: Sequence[SequenceModel], state: WorkspaceState) -> None:
        """Pause these sequences of a workspace, after confirmation."""
        requested = [change for change in status_changes_for(sequences) if change.status == "paused"]
        if self._may_change(requested, state):
            self.ui.run_worker(partial(self._ask, requested, state), group="ask")

    def _chosen(self) -> list[SequenceModel]:
        chosen = self.ui.board.panels["sequences"].grid.chosen
        return [line.sequence for line in chosen if isinstance(line, SequenceLine)]

    def _change(self, requested: Sequence[StatusChange]) -> None:
        if self._may_change(requested):
            self.ui.run_worker(partial(self._ask, requested, self.ui.workspaces.current), group="ask")

    def _may_change(self, requested: Sequence[StatusChange], state: WorkspaceState | None = None) -> bool:
        """Whether there is something to do here; if not, the person gets a notice."""
        if self.replay.at:
            self.ui.app.notify("You are viewing the past. Press Esc to return to now.", severity="warning")
        elif (state or self.ui.workspaces.current).only_reads:
            self.ui.app.notify("This dashboard is read-only.", severity="warning")
        elif not requested:
            self.ui.app.notify("Select a sequence that is active or paused (key 2).", severity="warning")
        else:
            return True
        return False

    async def _ask_hours(self, requested: Sequence[StatusChange], state: WorkspaceState) -> None:
        labels = [change.sequence.label for change in requested]
        what = labels[0] if len(labels) == 1 else f"{len(labels)} sequences"
        if hours := await self.ui.app.push_screen_wait(HoursDialog(what=what, glyphs=self.ui.glyphs)):
            await self._ask([replace(change, hours=hours) for change in requested], state)

    def undo(self) -> None:
        current = self.ui.workspaces.current
        if requested := current.pending_changes.undo() if current.pending_changes else ():
            self.ui.run_worker(partial(self._carry_out, requested, current), group="changes", exclusive=False)
        else:
            self.ui.app.notify("Nothing to undo.", severity="warning")

    async def _ask(self, requested: Sequence[StatusChange], state: WorkspaceState) -> None:
        pauses = requested[0].status == "paused"
        verb = "Pause" if pauses else "Resume"
        labels = [change.sequence.label for change in requested]
        what, text = f"{len(labels)} sequences", labels[:MOST_LABELS]
        hours = requested[0].hours
        period = f" for {hours} h" if hours else ""
        if len(labels) == 1:
            what = labels[0]
            until = (
                f"It stops sending until {_end_of(hours, self.ui.now())}, then resumes."
                if hours
                else "It stops sending until someone resumes it."
            )
            text = [until if pauses else "It continues where it stopped."]
        elif len(labels) > MOST_LABELS:
            text.append("…")
        dialog = ConfirmDialog(
            title=f"{verb} {what}{period}?", text=tuple(text), yes=verb, glyphs=self.ui.glyphs
        )
        if await self.ui.app.push_screen_wait(dialog):
            self.ui.board.panels["sequences"].grid.unmark()
            self.ui.run_worker(partial(self._carry_out, requested, state), group="changes", exclusive=False)

    async def _carry_out(self, requested: Sequence[StatusChange], state: WorkspaceState) -> None:
        if state.pending_changes is None:
            return
        self.ui.app.call_later(self.presenter.show)
        results = await state.pending_changes.carry_out(requested)
        if told := [one.card for one in results if one.refused or one.card.tone in {Tone.WARN, Tone.BAD}]:
            self._tell(told)
        if state.feed:
            state.feed.read_now("sequences")
        self.presenter.show()

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

    def run_pressed(self, asked: Invocation | None) -> None:
        if asked:
            self.ui.run_worker(partial(self._run, asked), group="commands", exclusive=False)

    async def _run(self, asked: Invocation) -> None:
        """Confirm, run and show the answer; as a notification if another page is open by then."""
        state = self.ui.workspaces.current
        if state.pending_changes is None:
            return
        sequences = [one.sequence for one in state.board.sequences] if state.board else []
        refused = state.pending_changes.refuses(asked)
        dialog = None if refused else confirmation_of(asked, sequences=sequences, glyphs=self.ui.glyphs)
        if dialog and not await self.ui.app.push_screen_wait(dialog):
            return
        screen, self.ui.board.running = self.ui.app.screen, asked.line
        self.presenter.second_passed()
        try:
            result = await state.pending_changes.run(asked)
            if result.question:
                dialog = question_of(result, glyphs=self.ui.glyphs)
                if not await self.ui.app.push_screen_wait(dialog):
                    return
                # What was shown is what runs: the line is not read again.
                yes = invocation(result.question, workspace=asked.workspace)
                result = await state.pending_changes.run(yes)
        finally:
            self.ui.board.running = ""
        card = result.card
        self.presenter.second_passed()
        if state.feed and dialog:
            state.feed.read_now()
        if self.ui.app.screen is screen:
            await self._show(card)
        else:
            self._tell([card])

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
