"""The dashboard as an application: what is seen, and what people ask of it, which goes out through `hands`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from textual import on, work
from textual.binding import Binding

from shared.api.models import Sequence as SequenceModel
from shared.domain.card import Card, Tone
from shared.text.sanitize import visible
from tui.app.display import THEMES, utc_now
from tui.app.navigation import TravellingApp
from tui.feed.pending_changes import StatusChange, status_changes_for
from tui.feed.workspace_state import WorkspaceState
from tui.model import details, panel_help
from tui.model.keys import unknown_key_warnings
from tui.model.lines import SequenceLine
from tui.model.page_content import page, page_ref_of
from tui.screens import export
from tui.screens.all_workspaces import AllWorkspacesScreen
from tui.screens.board import BoardScreen, names
from tui.screens.card_dialog import CardDialog
from tui.screens.confirm_dialog import ConfirmDialog
from tui.screens.detail_page import DetailScreen
from tui.screens.prompt import Prompt, suggestions
from tui.widgets.line_table import LineTable

__all__ = ["DashboardApp", "utc_now"]

SEVERITY = {Tone.BAD: "error", Tone.WARN: "warning"}
NAMED = {
    binding.id or ""
    for where in (
        BoardScreen,
        DetailScreen,
        AllWorkspacesScreen,
        LineTable,
        CardDialog,
        ConfirmDialog,
        Prompt,
    )
    for binding in where.BINDINGS
    if isinstance(binding, Binding)
}
"""The names by which keys are remapped."""


class DashboardApp(TravellingApp):
    """One method for each thing that a key, a click or a typed line can want."""

    _key_warnings: Sequence[str] = ()

    def remap(self, keys: Mapping[str, str]) -> None:
        super().remap(keys)
        self._key_warnings = unknown_key_warnings(keys, known=NAMED)

    def on_mount(self) -> None:
        for told in self._key_warnings:
            self.notify(told, severity="warning", timeout=30, markup=False)

    @on(BoardScreen.Wanted)
    @on(DetailScreen.Wanted)
    def _wanted(self, message: BoardScreen.Wanted | DetailScreen.Wanted) -> None:
        getattr(self, f"_want_{message.what}")()

    def _want_refresh(self) -> None:
        if self.here.feed:
            self.here.feed.read_now()

    def _want_theme(self) -> None:
        at = THEMES.index(self.theme) if self.theme in THEMES else -1
        self.theme = THEMES[(at + 1) % len(THEMES)]

    def _want_toggle(self) -> None:
        chosen = self.board_screen.panels["sequences"].grid.chosen
        self._toggle(line.sequence for line in chosen if isinstance(line, SequenceLine))

    def _want_toggle_here(self) -> None:
        """The sequence whose page is seen."""
        screen = self.screen
        ref = screen.ref if isinstance(screen, DetailScreen) else None
        board = self.here.board
        lines = board.sequences if board and ref and ref.kind == "sequence" else ()
        self._toggle(line.sequence for line in lines if ref and line.key == ref.key)

    def _toggle(self, sequences: Iterable[SequenceModel]) -> None:
        if self._may_not():
            return
        if wishes := status_changes_for(sequences):
            self._ask(wishes, self.here)
        else:
            self.notify("Select a sequence that is active or paused (key 2).", severity="warning")

    def _may_not(self) -> bool:
        """Whether nothing can be changed from here; says why."""
        pending_changes = self.here.pending_changes
        if self._replay:
            self.notify("This is the past; esc goes back to now.", severity="warning")
        elif pending_changes is None or pending_changes.read_only:
            self.notify("This dashboard only reads.", severity="warning")
        else:
            return False
        return True

    def _want_undo(self) -> None:
        wishes = self.here.pending_changes.undo() if self.here.pending_changes else ()
        if wishes:
            self._carry_out(wishes, self.here)
        else:
            self.notify("There is nothing to take back.", severity="warning")

    @work(exclusive=True, group="ask", exit_on_error=False)
    async def _ask(self, wishes: Sequence[StatusChange], state: WorkspaceState) -> None:
        verb = "Pause" if wishes[0].status == "paused" else "Resume"
        labels = tuple(wish.sequence.label for wish in wishes)
        what = f"“{labels[0]}”" if len(labels) == 1 else f"{len(labels)} sequences"
        effect = (
            "It sends nothing more until it is resumed."
            if verb == "Pause"
            else "It goes on where it stopped."
        )
        text = (effect,) if len(labels) == 1 else (*labels[:12], *(("…",) if len(labels) > 12 else ()))
        if await self.push_screen_wait(ConfirmDialog(title=f"{verb} {what}?", text=text, yes=verb)):
            self.board_screen.panels["sequences"].grid.unmark()
            self._carry_out(wishes, state)

    @work(group="acts", exit_on_error=False)
    async def _carry_out(self, wishes: Sequence[StatusChange], state: WorkspaceState) -> None:
        """In the workspace that was seen when it was asked for, whichever is seen by now."""
        if state.pending_changes is None:
            return
        work = state.pending_changes.carry_out(wishes)
        self.call_later(self._show)
        for card in await work:
            if card.tone in SEVERITY:
                self._show_summary(card)
        if state.feed:
            state.feed.read_now("sequences")
        self._show()

    def _show_summary(self, card: Card) -> None:
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
            grid.set_arrangement(details.finding(before, text))

        def done(text: str | None) -> None:
            grid.set_arrangement(before if text is None else details.finding(before, text))

        hint = "Words that must all occur; !word leaves out. Enter keeps the filter, esc drops it."
        self.push_screen(Prompt(sign="filter", hint=hint, value=before.find, changed=changed), done)

    def _want_commands(self) -> None:
        known = tuple(names(self.board_screen.board))
        hint = "A command, as in Slack and the shell. Tab completes, enter runs, esc leaves."
        prompt = Prompt(
            sign="command",
            hint=hint,
            suggest=lambda typed: suggestions(typed, sequences=known, keys=details.KEYS),
        )
        self.push_screen(prompt, self._typed)

    def _typed(self, line: str | None) -> None:
        if line and line.strip():
            self._run_line(line.strip())

    @work(group="commands", exit_on_error=False)
    async def _run_line(self, line: str) -> None:
        state = self.here
        while line and state.pending_changes:
            asked = None if state.pending_changes.refuses(line) else details.question(line)
            if asked and not await self.push_screen_wait(asked):
                return
            card = await state.pending_changes.run(line)
            if state.feed and asked:
                state.feed.read_now()
            answer = await self.push_screen_wait(CardDialog(card, glyphs=self._glyphs))
            line = answer or ""

    def _want_help(self) -> None:
        card = panel_help.panel(self.board_screen.active, remapped=self.remapped.get("board"))
        self.push_screen(CardDialog(card, glyphs=self._glyphs))

    def _want_help_page(self) -> None:
        self.push_screen(CardDialog(panel_help.page(remapped=self.remapped.get("page")), glyphs=self._glyphs))

    def _want_details(self) -> None:
        line, board = self.board_screen.grid.line, self.board_screen.board
        if line is None or board is None:
            return
        grouping = self.board_screen.grouping if self.board_screen.active == "stats" else ""
        ref = page_ref_of(line, grouping=grouping)
        if ref and page(ref, board=board, changes=()):
            self.travel(ref)
            return
        card = details.card_of(line, board=board, changes=self.board_screen.changes)
        self.push_screen(CardDialog(card, glyphs=self._glyphs), self._typed)

    def _want_copy(self) -> None:
        line = self.board_screen.grid.line
        if line:
            self.copy_to_clipboard(visible(line.key))
            self.notify(f"Copied: {visible(line.key)}", timeout=3, markup=False)

    def _want_export(self) -> None:
        """The list as CSV, the board as text, the screen as a picture: into the folder, or to the browser."""
        board, now = self.board_screen.board, self.now()
        if board is None or (self._folder is None and not self.is_web):
            self.notify("There is nothing to write, or nowhere to write to.", severity="warning")
            return
        made = export.files(
            board=board,
            name=self.board_screen.active,
            shown=self.board_screen.grid.shown,
            picture=self.export_screenshot(),
            now=now,
            glyphs=self._glyphs,
        )
        if self.is_web:
            self.deliver_binary(export.packed(made), save_filename=f"{export.stem(now)}.zip")
        elif self._folder:
            self._write(made, self._folder)

    def _write(self, made: Mapping[str, str], folder: Path) -> None:
        try:
            export.write(folder, made)
        except OSError as error:
            self.notify(f"Not written: {error.strerror}", severity="error", markup=False)
        else:
            self.notify(f"Written: {', '.join(made)} in {folder}", timeout=12, markup=False)
