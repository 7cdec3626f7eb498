"""Dialogs: a question, a card with its buttons, and the keys of a page."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import ClassVar

from rich.columns import Columns
from rich.console import RenderableType
from textual import events, on
from textual.app import ComposeResult
from textual.binding import ActiveBinding, Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from shared.commands import Invocation, invocation
from shared.commands.base import Arguments, Question
from shared.domain.card import Button as CardButton
from shared.domain.card import Card
from shared.frozen import frozen
from shared.text.sanitize import visible
from tui.model.rich_card import render
from tui.theme.error_boundary import SafeScreen
from tui.theme.palette import Ink
from tui.theme.words import Words

HOURS = (1, 2, 4, 8)
MOST_LABELS = 12
"""Names that a question lists."""
MOST_CHOICES = 9
"""The number of choices that have a digit as their key."""


@frozen
class Answer:
    """A button, its key as the framework names it, and what pressing either answers."""

    label: str
    key: str
    value: object = None


class Dialog(SafeScreen[object], ModalScreen[object]):
    """A box over the page, which lives on behind it; Esc leaves it with None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "Back"),
        Binding("left", "app.focus_previous"),
        Binding("right", "app.focus_next"),
        Binding("up", "move(-1)", priority=True),
        Binding("down", "move(1)", priority=True),
    ]
    is_row: ClassVar[bool] = True
    """True where the answers stand beside each other; else the up and down keys go through them."""

    def __init__(self, *answers: Answer, is_large: bool = False) -> None:
        super().__init__()
        self.answers = answers
        self._classes_of_box = "dialog -large" if is_large else "dialog"

    @abstractmethod
    def body(self) -> Iterable[RenderableType]:
        """Give what stands above the answers, from above."""

    def compose(self) -> ComposeResult:
        with Vertical(classes=self._classes_of_box):
            with VerticalScroll(classes="dialog-body", can_focus=not self.answers):
                yield from (Static(part, classes="dialog-text") for part in self.body())
            with Horizontal(classes="dialog-buttons") if self.is_row else Vertical(classes="dialog-choices"):
                for one in self.answers:
                    key = {"escape": "esc"}.get(one.key, one.key)
                    label = visible(one.label).replace("[", r"\[")  # plain text, no markup
                    label += "" if label.startswith(key) else f" ({key})"
                    button = Button(label)
                    button.styles.line_pad = 0  # a style sheet refuses none
                    yield button

    def on_mount(self) -> None:
        """The harmless answer has the focus."""
        buttons = list(self.query(Button))
        (buttons[-1] if buttons else self.query_one(VerticalScroll)).focus()

    def on_key(self, event: events.Key) -> None:
        for answer in self.answers:
            if event.key == answer.key:
                event.stop()
                self.dismiss(answer.value)
                return

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        number = list(self.query(Button)).index(event.button)
        self.dismiss(self.answers[number].value)

    def action_move(self, by: int) -> None:
        """Scroll a long text, or go through answers below each other."""
        body = self.query_one(VerticalScroll)
        if self.is_row or body.max_scroll_y:
            body.scroll_relative(y=by * 3, animate=False)
        elif by > 0:
            self.focus_next(Button)
        else:
            self.focus_previous(Button)


BACK = Answer(label="Back", key="escape")


class ConfirmDialog(Dialog):
    """Answers an act, a duration where a pause shall end, or None; it names what a yes changes."""

    def __init__(self, question: Question, text: Sequence[str], *, takes_hours: bool) -> None:
        """Offer hours under their digits, so that other choices have letters."""
        first, *others = question.choices
        hours = HOURS if takes_hours else ()
        verb = first.label.split(" ")[0]
        super().__init__(
            Answer(label=verb if others else first.label, key="y", value=first.act),
            *(Answer(label=f"{hour} h", key=str(hour), value=timedelta(hours=hour)) for hour in hours),
            *(
                Answer(label=one.label.removeprefix(f"{verb} ").capitalize(), key=key, value=one.act)
                for key, one in zip("abc", others, strict=False)
            ),
            Answer(label=question.no, key="n"),
        )
        self._heading, self._lines = visible(question.card.title), tuple(map(visible, text))

    def body(self) -> Iterable[RenderableType]:
        yield Words.of(self._heading, Ink.STRONG, wraps=True)
        yield Words.of("\n".join(self._lines), Ink.TEXT, wraps=True)


class CardDialog(Dialog):
    """Answers what the button of a card has as data, or None; buttons have numbers, below each other."""

    is_row = False

    def __init__(self, card: Card, *, answers: Sequence[object] | None = None) -> None:
        """`answers` in place of what its buttons have as data."""
        self.card = card
        values = [_asked(button) for button in card.buttons] if answers is None else answers
        buttons = zip(card.buttons[:MOST_CHOICES], values, strict=False)
        super().__init__(
            *(
                Answer(label=button.label, key=str(number), value=value)
                for number, (button, value) in enumerate(buttons, start=1)
            ),
            BACK,
            is_large=answers is None,
        )

    def body(self) -> Iterable[RenderableType]:
        yield render(self.card)


def _asked(button: CardButton) -> Invocation | None:
    if isinstance(button.action, Arguments):
        return invocation(button.action, workspace=button.workspace)
    return None


MOVES = (("↑ ↓", "move"), ("enter", "open, go down"), ("tab", "next list"))
SIGNS_HELP = (
    "● healthy  ▲ at risk  ◆ bad  ‖ can't send  ? unknown  ✓ acknowledged. Titles tell the age of a list: late after two "
    "intervals, stale (hatched) after five. 1.1% ±0.4: the true rate is within 0.4 points, with 95% confidence."
)


KEY_CELLS = 7


class HelpDialog(Dialog):
    """The keys of a page, in columns where there is room, as they are now, without those that would be refused."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter,question_mark", "dismiss")]

    def __init__(self, bindings: Sequence[ActiveBinding], *, title: str) -> None:
        super().__init__(is_large=True)
        self._listed, self._heading = bindings, title

    def body(self) -> Iterable[RenderableType]:
        yield Words.of(f"Keys: {self._heading}", Ink.STRONG)
        yield Columns(self._keys(), column_first=True, padding=(0, 2))
        yield Words.of(SIGNS_HELP, Ink.MUTED, wraps=True)

    def _keys(self) -> Iterator[Words]:
        listed = [
            (self.app.get_key_display(active.binding), active.binding.tooltip or active.binding.description)
            for active in self._listed
            if active.enabled and active.binding.id and active.binding.key not in {"f1", "ctrl+p"}
        ]
        for key, about in (*MOVES, *listed):
            yield Words(((f"{key:<{KEY_CELLS}}", Ink.ACCENT), (about, Ink.TEXT)))


def question_dialog(question: Question, *, takes_hours: bool) -> Dialog:
    """The question that a command asks before it changes anything, with its own words."""
    card = question.card
    names = [str(row.cells[0]) for row in card.table.rows] if card.table else []
    more = ["…"] if len(names) > MOST_LABELS else []
    listed = (", ".join([*names[:MOST_LABELS], *more]),) if names else ()
    text = tuple(dict.fromkeys((*card.text, *listed, question.line)))
    if len(question.choices) == 1 or takes_hours:
        return ConfirmDialog(question, text, takes_hours=takes_hours)
    buttons = tuple(CardButton(label=choice.label, action=choice.act) for choice in question.choices)
    asked = replace(card, text=text, table=None, buttons=buttons)
    return CardDialog(asked, answers=[choice.act for choice in question.choices])
