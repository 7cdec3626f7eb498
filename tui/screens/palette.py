"""The palette: any command, and any action of the screen below it, found by a few letters."""

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

from shared.text.sanitize import visible
from tui.model.input.palette_offers import Offer, is_line
from tui.screens.prompt import BESIDE
from tui.theme.error_boundary import SafeScreen
from tui.theme.palette import PALETTES

HINT = "Any command, as in Slack and the shell, and any action of this page. Tab completes, Enter runs, Esc cancels."
NAME = 34
"""Cells of the names in the list."""


class Palette(SafeScreen[Offer | None], ModalScreen[Offer | None]):
    """Answers the action that was chosen, or the line to run; None where the person gave up."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Back", id="prompt.back"),
        Binding("down", "into_list", show=False),
        Binding("tab", "complete", show=False, priority=True),
    ]

    def __init__(self, *, offers: Callable[[str], list[Offer]]) -> None:
        super().__init__()
        self._offers_for = offers
        self._offers: list[Offer] = []

    def compose(self) -> ComposeResult:
        with Vertical(classes="prompt"):
            yield OptionList(id="offers")
            yield Static(Text(HINT), classes="prompt-hint")
            yield Input(id="line", placeholder="command", select_on_focus=False)

    def on_mount(self) -> None:
        self.set_focus(self.query_one(Input))  # at once: the next keys may be waiting
        self._show("")

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        self._show(event.value)

    def _show(self, typed: str) -> None:
        self._offers = self._offers_for(typed)
        listed = self.query_one(OptionList)
        listed.clear_options()
        room, muted = self.app.size.width - BESIDE, PALETTES[self.app.theme].muted
        for offer in self._offers:
            text = Text.assemble(f"{visible(offer.line):<{NAME}}  ", (visible(offer.words), muted))
            text.truncate(room, overflow="ellipsis")
            listed.add_option(Option(text))
        if not self._offers and not is_line(typed):
            text = Text(f"Nothing matches “{visible(typed.strip())}”", style=muted)
            text.truncate(room, overflow="ellipsis")
            listed.add_option(Option(text, disabled=True))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        """A line that begins with a command runs as it is; anything else means the best match."""
        if is_line(event.value) or not self._offers:
            self.dismiss(Offer(line=event.value))
        else:
            self._take(self._offers[0])

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        self._take(self._offers[event.option_index])

    def _take(self, offer: Offer) -> None:
        if offer.beginning:
            self._complete(offer)
        else:
            self.dismiss(offer)

    def _complete(self, offer: Offer) -> None:
        """The offer into the line, without the words that are to be replaced."""
        line = self.query_one(Input)
        line.value = offer.beginning or offer.line
        line.cursor_position = len(line.value)
        line.focus()

    def action_complete(self) -> None:
        if self._offers:
            self._complete(self._offers[self.query_one(OptionList).highlighted or 0])

    def action_into_list(self) -> None:
        listed = self.query_one(OptionList)
        listed.highlighted = 0 if self._offers else None
        listed.focus()
