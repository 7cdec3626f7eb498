"""Dialogs: a card (an answer, details, help), a confirmation, and a choice of hours."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from shared.commands import invocation
from shared.commands.arguments import Arguments
from shared.commands.result import Act, Question
from shared.domain.card import Button as CardButton
from shared.domain.card import Card
from shared.text.sanitize import visible
from tui.feed.pending_changes import Asked, Yes
from tui.model.pages import rich_card
from tui.screens.headed import HeadedScreen
from tui.theme.palette import PALETTES, Glyphs

MOST_BUTTONS = 5


class CardDialog(HeadedScreen[Asked | None], ModalScreen[Asked | None]):
    """Answers the command or the act of the button that was pressed, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter", "dismiss", "Back", id="card.back")]

    def __init__(self, card: Card, *, glyphs: Glyphs) -> None:
        super().__init__(glyphs=glyphs)
        self.card = card
        self._glyphs = glyphs
        self._buttons = card.buttons[:MOST_BUTTONS]

    def compose(self) -> ComposeResult:
        drawn = rich_card.render(self.card, palette=PALETTES[self.app.theme], glyphs=self._glyphs)
        yield self.head
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
        for pressed in self._buttons[int(number) :][:1] if number.isdigit() else ():
            if isinstance(pressed.action, Arguments):
                self.dismiss(invocation(pressed.action, workspace=pressed.workspace or None))
                return
            if isinstance(pressed.action, Act):
                self.dismiss(Yes(act=pressed.action, line=pressed.line))
                return
        self.dismiss(None)


class ChoiceDialog(HeadedScreen[CardButton | None], ModalScreen[CardButton | None]):
    """Answers the button of a card that was chosen by its number, with the cursor or by a click."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(str(number), f"choose({number})", show=False) for number in range(1, 10)),
        Binding("escape,q", "dismiss", "Back", id="choice.back"),
        Binding("up,k", "app.focus_previous", show=False),
        Binding("down,j", "app.focus_next", show=False),
    ]

    def __init__(self, card: Card, *, glyphs: Glyphs) -> None:
        super().__init__(glyphs=glyphs)
        self.card = card

    def compose(self) -> ComposeResult:
        yield self.head
        with Vertical(classes="dialog -choice"):
            yield Static(Text(visible(self.card.title)), classes="dialog-title")
            if text := "\n".join(filter(None, map(visible, (*self.card.text, self.card.footer)))):
                yield Static(Text(text), classes="dialog-text")
            for number, button in enumerate(self.card.buttons, start=1):
                label = visible(button.label).replace("[", r"\[")
                yield Button(f"{number}  {label}", id=f"choice-{number}")
            yield Button("Back  (esc)", id="back")

    def action_choose(self, number: int) -> None:
        if number <= len(self.card.buttons):
            self.dismiss(self.card.buttons[number - 1])

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        number = (event.button.id or "").removeprefix("choice-")
        if number.isdigit():
            self.action_choose(int(number))
        else:
            self.dismiss(None)


class ConfirmDialog(HeadedScreen[bool], ModalScreen[bool]):
    """Answers True for yes; Esc, n and a click beside it are no."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "dismiss(True)", "Yes", id="ask.yes"),
        Binding("n,escape,q", "dismiss(False)", "No", id="ask.no"),
        Binding("left", "app.focus_previous", show=False),
        Binding("right", "app.focus_next", show=False),
    ]

    def __init__(
        self, *, title: str, text: tuple[str, ...], yes: str, glyphs: Glyphs, no: str = "Cancel"
    ) -> None:
        super().__init__(glyphs=glyphs)
        self._heading = visible(title)
        self._lines = tuple(visible(line) for line in text)
        self._yes, self._no = yes, no

    def compose(self) -> ComposeResult:
        yield self.head
        with Vertical(classes="dialog"):
            yield Static(Text(self._heading), classes="dialog-title")
            yield Static(Text("\n".join(self._lines)), classes="dialog-text")
            with Horizontal(classes="dialog-buttons"):
                yield Button(f"{self._yes}  (y)", id="yes", variant="warning")
                yield Button(f"{self._no}  (n)", id="no")

    def on_mount(self) -> None:
        self.query_one("#no").focus()

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")


HOURS = (1, 2, 4, 8)


class HoursDialog(HeadedScreen[int], ModalScreen[int]):
    """For how many hours; 0 is none after all."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(str(hours), f"dismiss({hours})", show=False) for hours in HOURS),
        Binding("escape,n,q", "dismiss(0)", "Back", id="hours.back"),
        Binding("left", "app.focus_previous", show=False),
        Binding("right", "app.focus_next", show=False),
    ]

    def __init__(self, *, what: str, glyphs: Glyphs) -> None:
        super().__init__(glyphs=glyphs)
        self._what = visible(what)

    def compose(self) -> ComposeResult:
        yield self.head
        with Vertical(classes="dialog"):
            yield Static(Text(f"Pause {self._what} for how long?"), classes="dialog-title")
            with Horizontal(classes="dialog-buttons"):
                for hours in HOURS:
                    yield Button(f"{hours} h  ({hours})", id=f"hours-{hours}")

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        self.dismiss(int((event.button.id or "hours-0").removeprefix("hours-")))


def question_dialog(question: Question, *, glyphs: Glyphs) -> ConfirmDialog | ChoiceDialog:
    """The question that a command asks before it changes anything, with its own words."""
    card = question.card
    listed = [line for row in card.table.rows if (line := str(row.cells[0]))] if card.table else []
    text = (*card.text, *((", ".join(listed),) if listed else ()))
    if len(question.choices) == 1:
        yes = question.choices[0].label
        return ConfirmDialog(title=card.title, text=text, yes=yes, no=question.no, glyphs=glyphs)
    buttons = tuple(CardButton(label=one.label, action=one.act) for one in question.choices)
    return ChoiceDialog(replace(card, text=text, buttons=buttons), glyphs=glyphs)
