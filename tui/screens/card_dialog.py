"""One card over the board: the answer to a command, the details of a line, the help."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from shared.domain.card import Card
from shared.text.sanitize import visible
from tui.model import rich_card
from tui.theme.error_boundary import ErrorBoundary
from tui.theme.palette import PALETTES, Glyphs

MOST_BUTTONS = 5


class CardDialog(ErrorBoundary, ModalScreen[str | None]):
    """Answers the command line of the button that was pressed, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter", "close", "Back", id="card.back")]

    def __init__(self, card: Card, *, glyphs: Glyphs) -> None:
        super().__init__()
        self.card = card
        self._glyphs = glyphs
        self._buttons = card.buttons[:MOST_BUTTONS]

    def compose(self) -> ComposeResult:
        drawn = rich_card.render(self.card, palette=PALETTES[self.app.theme], glyphs=self._glyphs)
        with Vertical(classes="dialog -large"):
            with VerticalScroll(classes="dialog-body"):
                yield Static(drawn)
            with Horizontal(classes="dialog-buttons"):
                for number, button in enumerate(self._buttons):
                    yield Button(visible(button.label).replace("[", r"\["), id=f"button-{number}")
                yield Button("Back  (esc)", id="back")

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        number = (event.button.id or "").removeprefix("button-")
        self.dismiss(self._buttons[int(number)].command if number.isdigit() else None)

    def action_close(self) -> None:
        self.dismiss(None)
