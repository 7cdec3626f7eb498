"""What people change or run from the dashboard: pause and resume by key, undo, and typed command lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from shared.api.models import Sequence as SequenceModel
from shared.domain.card import Tone
from shared.text.sanitize import visible
from tui.app.presenter import Presenter, Ui
from tui.app.replay_control import ReplayControl
from tui.feed.pending_changes import StatusChange, status_changes_for
from tui.feed.workspace_state import WorkspaceState
from tui.model.keys import BOARD
from tui.model.lines import SequenceLine
from tui.screens.detail_page import DetailScreen
from tui.screens.dialogs import CardDialog, ConfirmDialog, confirmation_of
from tui.screens.prompt import Prompt, suggestions

MOST_LABELS = 12
HINT = "A command, as in Slack and the shell. Tab completes, enter runs, esc leaves."


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """Asks before anything changes, in the workspace that was shown when it was asked for."""

    ui: Ui
    presenter: Presenter
    replay: ReplayControl

    def toggle_chosen(self) -> None:
        """Pause or resume the chosen sequences of the board."""
        chosen = self.ui.board.panels["sequences"].grid.chosen
        self._toggle(line.sequence for line in chosen if isinstance(line, SequenceLine))

    def toggle_shown(self) -> None:
        """Pause or resume the sequence whose page is shown."""
        screen, board = self.ui.app.screen, self.ui.workspaces.current.board
        ref = screen.ref if isinstance(screen, DetailScreen) else None
        lines = board.sequences if board and ref and ref.kind == "sequence" else ()
        self._toggle(line.sequence for line in lines if ref and line.key == ref.key)

    def _toggle(self, sequences: Iterable[SequenceModel]) -> None:
        current = self.ui.workspaces.current
        if self.replay.at:
            self.ui.app.notify("This is the past; esc goes back to now.", severity="warning")
        elif current.pending_changes is None or current.pending_changes.read_only:
            self.ui.app.notify("This dashboard only reads.", severity="warning")
        elif requested := status_changes_for(sequences):
            self.ui.run_worker(partial(self._ask, requested, current), group="ask")
        else:
            self.ui.app.notify("Select a sequence that is active or paused (key 2).", severity="warning")

    def undo(self) -> None:
        current = self.ui.workspaces.current
        if requested := current.pending_changes.undo() if current.pending_changes else ():
            self.ui.run_worker(partial(self._carry_out, requested, current), group="changes", exclusive=False)
        else:
            self.ui.app.notify("There is nothing to take back.", severity="warning")

    async def _ask(self, requested: Sequence[StatusChange], state: WorkspaceState) -> None:
        pauses = requested[0].status == "paused"
        verb = "Pause" if pauses else "Resume"
        labels = [change.sequence.label for change in requested]
        what, text = f"{len(labels)} sequences", labels[:MOST_LABELS]
        if len(labels) == 1:
            what = f"“{labels[0]}”"
            effect = (
                "It sends nothing more until it is resumed." if pauses else "It goes on where it stopped."
            )
            text = [effect]
        elif len(labels) > MOST_LABELS:
            text.append("…")
        dialog = ConfirmDialog(title=f"{verb} {what}?", text=tuple(text), yes=verb)
        if await self.ui.app.push_screen_wait(dialog):
            self.ui.board.panels["sequences"].grid.unmark()
            self.ui.run_worker(partial(self._carry_out, requested, state), group="changes", exclusive=False)

    async def _carry_out(self, requested: Sequence[StatusChange], state: WorkspaceState) -> None:
        if state.pending_changes is None:
            return
        self.ui.app.call_later(self.presenter.show)
        for card in await state.pending_changes.carry_out(requested):
            if card.tone in {Tone.WARN, Tone.BAD}:
                self.ui.app.notify(
                    " ".join(map(visible, card.text)),
                    title=visible(card.title),
                    severity="error" if card.tone is Tone.BAD else "warning",
                    timeout=20,
                    markup=False,
                )
        if state.feed:
            state.feed.read_now("sequences")
        self.presenter.show()

    def prompt(self) -> None:
        board = self.ui.board.board
        names = [line.sequence.label for line in board.sequences] if board else []
        keys = [(key.shown, key.summary) for key in BOARD]
        suggest = lambda typed: suggestions(typed, sequences=names, keys=keys)  # noqa: E731 # one expression
        self.ui.app.push_screen(Prompt(sign="command", hint=HINT, suggest=suggest), self.run_typed)

    def run_typed(self, line: str | None) -> None:
        if line and line.strip():
            self.ui.run_worker(partial(self._run, line.strip()), group="commands", exclusive=False)

    async def _run(self, line: str) -> None:
        state = self.ui.workspaces.current
        while line and state.pending_changes:
            dialog = None if state.pending_changes.refuses(line) else confirmation_of(line)
            if dialog and not await self.ui.app.push_screen_wait(dialog):
                return
            card = await state.pending_changes.run(line)
            if state.feed and dialog:
                state.feed.read_now()
            answer = await self.ui.app.push_screen_wait(CardDialog(card, glyphs=self.ui.glyphs))
            line = answer or ""
