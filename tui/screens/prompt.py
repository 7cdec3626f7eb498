"""The input line for filters and commands, with suggestions while typing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from shared.commands import COMMANDS, Face, find_command
from shared.text.tokenize import quote
from tui.theme.error_boundary import SafeScreen

MOST_SUGGESTIONS = 12
BESIDE = 4
"""Cells beside an offer: the frame of the list and its scrollbar."""


def suggestions(
    typed: str, *, sequences: Sequence[str], keys: Sequence[tuple[str, str]]
) -> list[tuple[str, str]]:
    """What the line could become, each with a word about it: commands, then sequences as their argument."""
    word, _, rest = typed.strip().partition(" ")
    command = find_command(word)
    if command and (rest or typed.endswith(" ")) and "SEQUENCE" in command.usage:
        wanted = rest.strip().strip('"').casefold()
        fitting = [name for name in sequences if wanted in name.casefold()]
        return [(f"{command.name} {quote(name)}", "") for name in fitting][:MOST_SUGGESTIONS]
    here = [c for c in COMMANDS.values() if Face.DASHBOARD in c.faces]
    fitting_commands = [
        c for c in here if any(name.startswith(word.lower()) for name in (c.name, *c.aliases))
    ] or ([c for c in here if word.lower() in c.summary.lower()])
    synopses = [(c.synopsis, c.summary) for c in fitting_commands]
    return [*synopses, *((key, what) for key, what in keys if not typed)][: MOST_SUGGESTIONS * 3]


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
        self.query_one(Input).focus()
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
        offers = [Text.assemble(f"{line:<44}  ", (word, "dim")) for line, word in found]
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
        """The offer into the line, without the words that are to be replaced."""
        line = self.query_one(Input)
        chosen = self._lines[number]
        verb = chosen.split(" ")[0]
        command = find_command(verb)
        usage = command is not None and chosen == command.synopsis and bool(command.usage)
        line.value = f"{verb} " if usage else chosen
        line.cursor_position = len(line.value)
        line.focus()

    def action_take(self) -> None:
        if self._lines:
            self._put(self.query_one(OptionList).highlighted or 0)

    def action_into_list(self) -> None:
        if self._suggest_for:
            self.query_one(OptionList).focus()
