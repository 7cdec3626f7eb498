"""The input line for filters, times and names, with suggestions while typing."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tui.theme.error_boundary import SafeScreen
from tui.theme.palette import PALETTES

BESIDE = 4
"""Cells beside an offer: the frame of the list and its scrollbar."""


class Prompt(SafeScreen[str | None], ModalScreen[str | None]):
    """Answers the line, or None; `changed` hears of every keystroke."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Back", id="prompt.back"),
        Binding("down", "into_list", show=False),
        Binding("tab", "take", show=False, priority=True),
    ]

    def __init__(
        self,
        *,
        sign: str,
        hint: str,
        value: str = "",
        changed: Callable[[str], None] | None = None,
        suggest: Callable[[str], list[tuple[str, str]]] | None = None,
    ) -> None:
        super().__init__()
        self._sign, self._hint, self._value = sign, hint, value
        self._changed, self._suggest_for = changed, suggest
        self._lines: list[str] = []

    def compose(self) -> ComposeResult:
        with Vertical(classes="prompt"):
            if self._suggest_for:
                yield OptionList(id="offers")
            yield Static(Text(self._hint), classes="prompt-hint")
            yield Input(self._value, id="line", placeholder=self._sign, select_on_focus=False)

    def on_mount(self) -> None:
        self.set_focus(self.query_one(Input))  # at once: the next keys may be waiting
        self._suggest(self._value)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        if self._changed:
            self._changed(event.value)
        self._suggest(event.value)

    def _suggest(self, typed: str) -> None:
        if not self._suggest_for:
            return
        found = self._suggest_for(typed)
        self._lines = [line for line, _ in found]
        listed = self.query_one(OptionList)
        listed.clear_options()
        muted = PALETTES[self.app.theme].muted
        offers = [Text.assemble(f"{line:<44}  ", (word, muted)) for line, word in found]
        for offer in offers:
            offer.truncate(self.app.size.width - BESIDE, overflow="ellipsis")
        listed.add_options(map(Option, offers))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        self._put(event.option_index)

    def _put(self, number: int) -> None:
        line = self.query_one(Input)
        line.value = self._lines[number]
        line.cursor_position = len(line.value)
        line.focus()

    def action_take(self) -> None:
        if self._lines:
            self._put(self.query_one(OptionList).highlighted or 0)

    def action_into_list(self) -> None:
        if self._suggest_for:
            self.query_one(OptionList).focus()
