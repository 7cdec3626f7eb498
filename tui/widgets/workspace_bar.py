"""The workspaces side by side, each with how it stands; away where there is only one."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from shared.domain.card import Tone
from shared.text.sanitize import visible
from tui.theme.palette import TONE_INK, Glyphs, Ink, Piece
from tui.widgets.panel import LinkLine

HINT = ((", .", " turn  "), ("0", " all "))
"""Keys and what they do, where there is room to say it."""


class WorkspaceBar(LinkLine):
    """A click goes to one; the one that is seen stands out."""

    DEFAULT_CSS = "WorkspaceBar { display: none; } WorkspaceBar.-on { display: block; }"

    def __init__(self, *, glyphs: Glyphs) -> None:
        super().__init__(id="workspace-bar")
        self._glyphs = glyphs

    def show(self, tones: Sequence[tuple[str, Tone]], *, here: str) -> None:
        """Each workspace with its tone; where not all names fit, only that of the one that is seen."""
        self.set_class(len(tones) > 1, "-on")
        names = {name: visible(name) for name, _ in tones}
        if sum(cell_len(name) + 5 for name in names.values()) >= self.size.width:
            names = {name: shown if name == here else "" for name, shown in names.items()}
        links: list[Sequence[Piece]] = []
        for name, tone in tones:
            edge = self._glyphs.focus if name == here else " "
            ink = Ink.STRONG if name == here else Ink.MUTED
            label = f" {names[name]}  " if names[name] else " "
            links.append([(edge, Ink.ACCENT), (self._glyphs.of(tone), TONE_INK[tone]), (label, ink)])
        pieces = self.set_links(links)
        self.set_text(pieces, self._hint(sum(cell_len(text) for text, _ in pieces)))

    def _hint(self, taken: int) -> Sequence[Piece]:
        said = [piece for key, word in HINT for piece in ((key, Ink.ACCENT), (word, Ink.MUTED))]
        return said if taken + sum(len(text) for text, _ in said) < self.size.width else ()
