"""The input line for filters, times, names and commands, with offers while typing."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from shared.text.sanitize import visible
from tui.model.offers import Offer, is_line
from tui.theme.error_boundary import SafeScreen
from tui.theme.palette import Ink
from tui.theme.words import Words

NAME_CELLS = 34
PALETTE_HINT = "Any command, as in Slack and the shell, and any action of this page. Tab completes, Enter runs, Esc cancels."


class Prompt(SafeScreen[str | None], ModalScreen[str | None]):
    """Answers the line, or None; `changed` hears of every keystroke."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Back"),
        Binding("down", "into_list"),
        Binding("tab", "complete", priority=True),
    ]

    def __init__(
        self,
        *,
        sign: str,
        hint: str,
        value: str = "",
        changed: Callable[[str], None] | None = None,
        offers: Callable[[str], list[Offer]] | None = None,
    ) -> None:
        """What is typed takes the place of `value`."""
        super().__init__()
        self._sign, self._hint, self._value = sign, hint, value
        self._changed, self._offers_for = changed, offers
        self.offers: list[Offer] = []

    def compose(self) -> ComposeResult:
        with Vertical(classes="prompt"):
            if self._offers_for:
                yield OptionList(id="offers")
            yield Static(Words.of(self._hint, Ink.MUTED, wraps=True), classes="prompt-hint")
            yield Input(self._value, id="line", placeholder=self._sign, select_on_focus=False)

    def on_mount(self) -> None:
        line = self.query_one(Input)
        line.select_all()
        self.set_focus(line)  # at once: the next keys may be waiting
        self._offer(self._value)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        if self._changed:
            self._changed(event.value)
        self._offer(event.value)

    def _offer(self, typed: str) -> None:
        if not self._offers_for:
            return
        self.offers = self._offers_for(typed)
        listed = self.query_one(OptionList)
        listed.clear_options()
        for offer in self.offers:
            name = f"{visible(offer.line):<{NAME_CELLS}}  "
            listed.add_option(Option(Words(((name, Ink.TEXT), (visible(offer.words), Ink.MUTED)))))
        if not self.offers and self.says_none(typed):
            text = f"Nothing matches “{visible(typed.strip())}”"
            listed.add_option(Option(Words.of(text, Ink.MUTED), disabled=True))

    def says_none(self, typed: str) -> bool:
        """True where the list says that nothing matches."""
        return False

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        self.submit(event.value)

    def submit(self, line: str) -> None:
        self.dismiss(line)

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        self.take(self.offers[event.option_index])

    def take(self, offer: Offer) -> None:
        """Put the chosen offer into the line, to be typed on."""
        line = self.query_one(Input)
        line.value = offer.beginning or offer.line
        line.cursor_position = len(line.value)
        line.focus()

    def action_complete(self) -> None:
        if self.offers:
            Prompt.take(self, self.offers[self.query_one(OptionList).highlighted or 0])

    def action_into_list(self) -> None:
        if self._offers_for:
            listed = self.query_one(OptionList)
            listed.highlighted = 0 if self.offers else None
            listed.focus()


class Palette(Prompt):
    """The command line: hands an offer or a line to `chosen` when it is left."""

    def __init__(self, *, offers: Callable[[str], list[Offer]], chosen: Callable[[Offer], object]) -> None:
        super().__init__(sign="command", hint=PALETTE_HINT, offers=offers)
        self._chosen = chosen

    def says_none(self, typed: str) -> bool:
        return not is_line(typed)

    def submit(self, line: str) -> None:
        """A line that begins with a command runs as it is; anything else means the best match."""
        if is_line(line) or not self.offers:
            self._leave(Offer(line=line))
        else:
            self.take(self.offers[0])

    def take(self, offer: Offer) -> None:
        if offer.beginning:
            super().take(offer)
        else:
            self._leave(offer)

    def _leave(self, offer: Offer) -> None:
        self.dismiss(None)
        self._chosen(offer)
