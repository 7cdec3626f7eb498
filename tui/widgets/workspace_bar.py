"""The workspaces side by side, each with how it stands; away where there is only one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual import events
from textual.message import Message

from shared.domain.card import Tone
from shared.text.sanitize import visible
from tui.theme.palette import TONE_INK, Glyphs, Ink, Piece
from tui.widgets.panel import TextLine

HINT = ((", .", " turn  "), ("0", " all "))
"""Keys and what they do, where there is room to say it."""


class WorkspaceBar(TextLine):
    """A click goes to one; the one that is seen stands out."""

    DEFAULT_CSS = "WorkspaceBar { display: none; } WorkspaceBar.-on { display: block; }"

    @dataclass
    class Chosen(Message):
        """A workspace was clicked."""

        name: str

    def __init__(self, *, glyphs: Glyphs) -> None:
        super().__init__(id="workspace-bar", ground="ground")
        self._glyphs = glyphs
        self._ends: list[tuple[int, str]] = []

    def show(self, standing: Sequence[tuple[str, Tone]], *, here: str) -> None:
        """Each workspace with its tone; where not all names fit, only that of the one that is seen."""
        self.set_class(len(standing) > 1, "-on")
        names = {name: visible(name) for name, _ in standing}
        if sum(cell_len(name) + 5 for name in names.values()) >= self.size.width:
            names = {name: shown if name == here else "" for name, shown in names.items()}
        pieces: list[Piece] = []
        self._ends = []
        for name, tone in standing:
            edge = self._glyphs.focus if name == here else " "
            pieces += [(edge, Ink.ACCENT), (self._glyphs.of(tone), TONE_INK[tone])]
            ink = Ink.STRONG if name == here else Ink.MUTED
            pieces.append((f" {names[name]}  " if names[name] else " ", ink))
            self._ends.append((sum(cell_len(text) for text, _ in pieces), name))
        self.set_text(pieces, self._hint(self._ends[-1][0] if self._ends else 0))

    def _hint(self, taken: int) -> Sequence[Piece]:
        said = [piece for key, word in HINT for piece in ((key, Ink.ACCENT), (word, Ink.MUTED))]
        return said if taken + sum(len(text) for text, _ in said) < self.size.width else ()

    def on_click(self, event: events.Click) -> None:
        chosen = next((name for end, name in self._ends if event.x < end), None)
        if chosen is not None:
            self.post_message(self.Chosen(chosen))
