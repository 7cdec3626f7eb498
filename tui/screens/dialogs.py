"""Dialogs: a card, a question, a choice, and the keys of a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import ClassVar

from rich.console import RenderableType
from rich.table import Table as Grid
from textual import on
from textual.app import ComposeResult
from textual.binding import ActiveBinding, Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from shared.commands import invocation
from shared.commands.base import Act, Arguments, Question
from shared.domain.card import Button as CardButton
from shared.domain.card import Card
from shared.text.sanitize import visible
from tui.feed.pending_changes import Yes
from tui.model.rich_card import render
from tui.theme.error_boundary import SafeScreen
from tui.theme.palette import Ink
from tui.theme.words import Words

MOST_BUTTONS = 5
HOURS = (1, 2, 4, 8)
MOST_LABELS = 12
"""Names that a question lists."""


class Dialog(SafeScreen[object], ModalScreen[object]):
    """A box over the page, which lives on behind it; Esc and `n` leave it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "Back", show=False),
        Binding("left,up", "app.focus_previous", show=False),
        Binding("right,down", "app.focus_next", show=False),
    ]


def _button(label: str, id: str, *, variant: str = "default") -> Button:  # noqa: A002 # the framework's word
    """Its label is plain text."""
    return Button(
        visible(label).replace("[", r"\["), id=id, variant="warning" if variant == "yes" else "default"
    )


class CardDialog(Dialog):
    """Answers the command or the act of the button that was pressed, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "dismiss", show=False),
        Binding("up", "scroll(-1)", show=False, priority=True),
        Binding("down", "scroll(1)", show=False, priority=True),
    ]

    def __init__(self, card: Card) -> None:
        super().__init__()
        self.card = card
        self._buttons = card.buttons[:MOST_BUTTONS]

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -large"):
            with VerticalScroll(classes="dialog-body"):
                yield Static(render(self.card))
            with Horizontal(classes="dialog-buttons"):
                for number, button in enumerate(self._buttons):
                    yield _button(button.label, f"button-{number}")
                yield _button("Back  (esc)", "back")

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()

    def action_scroll(self, by: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=by * 3, animate=False)

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        number = (event.button.id or "").removeprefix("button-")
        for pressed in self._buttons[int(number) :][:1] if number.isdigit() else ():
            if isinstance(pressed.action, Arguments):
                self.dismiss(invocation(pressed.action, workspace=pressed.workspace or None))
                return
            if isinstance(pressed.action, Act):
                self.dismiss(Yes(act=pressed.action))
                return
        self.dismiss(None)


class ChoiceDialog(Dialog):
    """Answers the button of a card that was chosen by its number, with the cursor or by a click."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(str(number), f"choose({number})", show=False) for number in range(1, 10)
    ]

    def __init__(self, card: Card) -> None:
        super().__init__()
        self.card = card

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -choice"):
            yield Static(Words.of(visible(self.card.title), Ink.STRONG), classes="dialog-title")
            if text := "\n".join(filter(None, map(visible, (*self.card.text, self.card.footer)))):
                yield Static(Words(((text, Ink.TEXT),), wraps=True), classes="dialog-text")
            for number, button in enumerate(self.card.buttons, start=1):
                yield _button(f"{number}  {button.label}", f"choice-{number}")
            yield _button("Back  (esc)", "back")

    def action_choose(self, number: int) -> None:
        """A button of the card; of a question its act."""
        if number <= len(self.card.buttons):
            chosen = self.card.buttons[number - 1]
            self.dismiss(chosen.action if isinstance(chosen.action, Act) else chosen)

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        number = (event.button.id or "").removeprefix("choice-")
        if number.isdigit():
            self.action_choose(int(number))
        else:
            self.dismiss(None)


class ConfirmDialog(Dialog):
    """Answers True for yes, a duration where a pause shall end, or None; it names what a yes changes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", show=False),
        Binding("n", "dismiss", show=False),
        *(Binding(str(hours), f"hours({hours})", show=False) for hours in HOURS),
    ]

    def __init__(self, *, title: str, text: Sequence[str], yes: str, no: str, takes_hours: bool) -> None:
        super().__init__()
        self._heading, self._lines = visible(title), tuple(text)
        self._yes, self._no = yes, no
        self._takes_hours = takes_hours

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(Words(((self._heading, Ink.STRONG),), wraps=True), classes="dialog-title")
            text = "\n".join(map(visible, self._lines))
            with VerticalScroll(classes="dialog-body", can_focus=False):
                yield Static(Words(((text, Ink.TEXT),), wraps=True), classes="dialog-text")
            with Horizontal(classes="dialog-buttons"):
                yield _button(f"{self._yes}  (y)", "yes", variant="yes")
                for hours in HOURS if self._takes_hours else ():
                    yield _button(f"{hours} h  ({hours})", f"hours-{hours}")
                yield _button(f"{self._no}  (n)", "no")

    def on_mount(self) -> None:
        self.query_one("#no").focus()

    def action_answer(self, answer: bool) -> None:  # noqa: FBT001 # an action's argument
        self.dismiss(answer)

    def action_hours(self, hours: int) -> None:
        if self._takes_hours:
            self.dismiss(timedelta(hours=hours))

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        name = event.button.id or ""
        if name.startswith("hours-"):
            self.action_hours(int(name.removeprefix("hours-")))
        else:
            self.dismiss(True if name == "yes" else None)


MOVES = (("↑ ↓", "move"), ("enter", "open, go down"), ("tab", "next list"))
SIGNS_HELP = (
    "● healthy  ▲ at risk  ◆ bad  ‖ can't send  ? unknown  ✓ acknowledged. Titles tell the age of a list: late after two "
    "intervals, stale (hatched) after five. 1.1% ±0.4: the true rate is within 0.4 points, with 95% confidence."
)


class HelpDialog(Dialog):
    """The keys of a page in two columns, as they are now, without those that would be refused."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter,question_mark", "dismiss", show=False)]

    def __init__(self, bindings: Sequence[ActiveBinding], *, title: str) -> None:
        super().__init__()
        self._listed, self._heading = bindings, title

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -large"):
            yield Static(Words.of(f"Keys: {self._heading}", Ink.STRONG), classes="dialog-title")
            with VerticalScroll(classes="dialog-body"):
                yield Static(self._columns())
                yield Static(Words(((SIGNS_HELP, Ink.MUTED),), wraps=True), classes="dialog-foot")

    def _columns(self) -> RenderableType:
        known = [
            (self.app.get_key_display(one.binding), one.binding.tooltip or one.binding.description)
            for one in self._listed
            if one.enabled and one.binding.id and one.binding.key not in {"f1", "ctrl+p"}
        ]
        keys = [*MOVES, *known]
        half = -(-len(keys) // 2)
        grid = Grid.grid(padding=(0, 2, 0, 0), expand=True)
        for pair in zip(keys[:half], [*keys[half:], ("", "")], strict=False):
            cells = [
                Words.of(text, ink)
                for key in pair
                for text, ink in zip(key, (Ink.ACCENT, Ink.TEXT), strict=True)
            ]
            grid.add_row(*cells)
        return grid


def question_dialog(question: Question, *, takes_hours: bool) -> ConfirmDialog | ChoiceDialog:
    """The question that a command asks before it changes anything, with its own words."""
    card = question.card
    names = [str(row.cells[0]) for row in card.table.rows] if card.table else []
    more = ["…"] if len(names) > MOST_LABELS else []
    listed = (", ".join([*names[:MOST_LABELS], *more]),) if names else ()
    text = tuple(dict.fromkeys((*card.text, *listed, question.line)))
    if len(question.choices) == 1:
        yes = question.choices[0].label
        return ConfirmDialog(title=card.title, text=text, yes=yes, no=question.no, takes_hours=takes_hours)
    buttons = tuple(CardButton(label=one.label, action=one.act) for one in question.choices)
    return ChoiceDialog(replace(card, text=text, buttons=buttons))
