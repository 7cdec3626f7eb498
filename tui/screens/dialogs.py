"""Dialogs: a card (an answer, details, help), a confirmation, and a choice of hours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from shared.api.models import Sequence as SequenceModel
from shared.commands import Invocation, invocation
from shared.commands.arguments import Add, Arguments, Confirmable, OnSequence
from shared.commands.pauses import Pause
from shared.commands.resolve import Resolved, resolve_sequence
from shared.commands.result import Result
from shared.domain.card import Button as CardButton
from shared.domain.card import Card
from shared.text.formats import show_span
from shared.text.sanitize import visible
from tui.model.pages import rich_card
from tui.screens.headed import HeadedScreen
from tui.theme.palette import PALETTES, Glyphs

MOST_BUTTONS = 5


class CardDialog(HeadedScreen[Invocation | None], ModalScreen[Invocation | None]):
    """Answers the command of the button that was pressed, or None."""

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


def confirmation_of(
    asked: Invocation, *, sequences: Sequence[SequenceModel], glyphs: Glyphs
) -> ConfirmDialog | None:
    """What to ask before a command that changes something, by the names it means.

    None for a command that reads, or that asks by itself once it has looked.
    """
    arguments = asked.arguments
    if not asked.changes or (isinstance(arguments, Confirmable) and arguments.asks_first):
        return None
    verb = asked.command.name.capitalize()
    title = f"{asked.command.summary}?"
    if isinstance(arguments, OnSequence):
        found = resolve_sequence(sequences, arguments.target)
        if isinstance(found, Resolved):
            email = f"{arguments.email} to " if isinstance(arguments, Add) else ""
            duration = arguments.duration if isinstance(arguments, Pause) else None
            period = f" for {show_span(duration)}" if duration else ""
            title = f"{verb} {email}{found.sequence.label}{period}?"
    return ConfirmDialog(title=title, text=(asked.line,), yes=verb, glyphs=glyphs)


def question_of(result: Result, *, glyphs: Glyphs) -> ConfirmDialog:
    """The question that a command asks before it changes anything."""
    card = result.card
    yes = result.question.verb.capitalize() if result.question else ""
    listed = [line for row in card.table.rows if (line := str(row.cells[0]))] if card.table else []
    names = (", ".join(listed),) if listed else ()
    return ConfirmDialog(title=card.title, text=(*card.text, *names), yes=yes, glyphs=glyphs)
