"""The page of guardrails: each rule with its state, its last firing and a bar for its distance to the threshold."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType

from shared.commands import Invocation, invocation
from shared.commands.guard_arguments import Guard
from shared.commands.result import Result
from shared.text.sanitize import visible
from tui.model.input.keys import GUARDRAILS, bindings, common, foot_of
from tui.model.lists.guardrails import COLUMNS, GuardrailLine, detail, lines_of
from tui.model.lists.lines import Stamp
from tui.model.pages.page_status import PageStatus
from tui.screens.headed import HeadedScreen
from tui.theme.palette import Glyphs, Ink
from tui.widgets.line_table import LineTable
from tui.widgets.panel import Panel, WrappedText
from tui.widgets.status_lines import Foot

EVERY = 15.0
"""Seconds between two looks at the bot's records while the page is open."""
NO_RECORDS = "Guardrails are in the bot's database, which this dashboard doesn't share."


class GuardrailsScreen(HeadedScreen[None]):
    """Asks `guardrails list` again and again while it is open; changes nothing."""

    is_always_live: ClassVar[bool] = True
    path = ("Guardrails",)
    keys = GUARDRAILS
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(GUARDRAILS, group="guardrails"),
        *bindings(common(GUARDRAILS)),
    ]

    def __init__(
        self,
        *,
        workspace: str,
        run: Callable[[Invocation], Awaitable[Result]] | None,
        test: Callable[[str], object],
        glyphs: Glyphs,
        now: Callable[[], datetime],
    ) -> None:
        super().__init__(glyphs=glyphs)
        self._run, self._test, self._now = run, test, now
        self.rule = WrappedText(id="rule")
        self.panel = Panel(
            "guardrails",
            title=f"Guardrails of {visible(workspace)}",
            columns=COLUMNS,
            glyphs=glyphs,
            empty="",
        )
        self.note = WrappedText(id="note")
        self.foot = Foot()

    def compose(self) -> ComposeResult:
        yield self.head
        yield self.panel
        yield self.rule
        yield self.note
        yield self.foot

    def on_mount(self) -> None:
        self.panel.grid.focus()
        self.set_interval(EVERY, self._look)
        self._look()

    def on_resize(self) -> None:
        self.call_after_refresh(lambda: self.foot.show(foot_of(self.keys_here)))

    def _look(self) -> None:
        self.run_worker(self._read(), group="guardrails", exclusive=True, exit_on_error=False)

    async def _read(self) -> None:
        if self._run is None:
            self.note.set_lines([[(NO_RECORDS, Ink.WARN)]])
            return
        result = await self._run(invocation(Guard()))
        card = result.card
        if card.table is None:  # a failure: what was read before stays
            words = visible(" ".join(card.text))
            self.note.set_lines([[(f"{visible(card.title)}. ", Ink.WARN), (words, Ink.TEXT)]])
            return
        self.note.set_lines([[(visible(text), Ink.WARN)] for text in card.text])
        self.panel.show(lines_of(result), stamp=Stamp(interval=EVERY, read_at=self._now()), now=self._now())
        self._show_rule()

    def tick(self, status: PageStatus) -> None:
        super().tick(status)
        self.panel.tick(status.now)

    def _show_rule(self) -> None:
        """The chosen rule in full."""
        line = self.panel.grid.line
        self.rule.set_lines(detail(line) if isinstance(line, GuardrailLine) else ())

    @on(LineTable.Moved)
    @on(LineTable.Arranged)
    def _arranged(self, event: LineTable.Arranged | LineTable.Moved) -> None:
        event.stop()
        self.panel.tick(self._now())
        self._show_rule()

    @on(LineTable.Picked)
    def _picked(self, event: LineTable.Picked) -> None:
        event.stop()
        if isinstance(event.line, GuardrailLine):
            self._test(event.line.name)

    def action_sort(self) -> None:
        self.panel.grid.next_order()

    def action_reverse(self) -> None:
        self.panel.grid.reverse()
