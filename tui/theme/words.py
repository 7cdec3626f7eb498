"""Text in inks, and how numbers, ages and times are written in it. Pure.

Nothing keeps a color: what a theme makes of an ink is looked up when the words are painted, so that after a change of
theme every page can be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions
from rich.measure import Measurement
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual._context import active_app  # the framework has no public name for it

from shared.domain.card import Tone
from shared.domain.local_zone import local
from shared.text.formats import show_span
from tui.theme.palette import NIGHT, PALETTES, SIGNS, TONE_INK, Ink, Palette

MORE = "…"
REST = "·"
BLOCKS = "▁▂▃▄▅▆▇█"
Piece = tuple[str, Ink]
"""A run of text in one ink."""


def palette_now() -> Palette:
    """The colors of the theme that the dashboard has now; those of the night outside of it."""
    app = active_app.get(None)
    return PALETTES.get(app.theme, NIGHT) if app else NIGHT


@dataclass(frozen=True, slots=True)
class Words:
    """Pieces of text for a widget or a cell; `action` is what a click on them does."""

    pieces: tuple[Piece, ...] = ()
    wraps: bool = False
    lit: bool = False
    """They differ from the moment that was shown before."""
    faded: bool = False
    """They are late: nothing shines that may be wrong."""
    action: str = ""

    @classmethod
    def of(cls, text: str, ink: Ink = Ink.TEXT, *, wraps: bool = False) -> Words:
        return cls(((text, ink),), wraps=wraps)

    @property
    def plain(self) -> str:
        return "".join(text for text, _ in self.pieces)

    def _styled(self, colors: Palette) -> Iterator[tuple[str, Style]]:
        lit = Style(bgcolor=colors.caution, bold=True) if self.lit else Style.null()
        for piece, ink in self.pieces:
            is_faded = self.faded and ink is not Ink.FAINT
            yield piece, style_of(colors, Ink.MUTED if is_faded else ink) + lit

    def segments(self, ground: Style) -> list[Segment]:
        """Give the segments of a line of a list, in the colors of now."""
        pieces = self._styled(palette_now())
        return [Segment(_whole(text) if self.faded else text, ground + style) for text, style in pieces]

    def text(self) -> Text:
        """Give the text for Rich, in the colors of now."""
        colors = palette_now()
        text = Text(no_wrap=not self.wraps, overflow="fold" if self.wraps else "ellipsis")
        for piece, style in self._styled(colors):
            text.append(piece, style)
        if self.action:
            text.stylize(Style(meta={"@click": self.action}))
        return text

    def __rich_console__(self, _: Console, __: ConsoleOptions) -> Iterator[Text]:
        yield self.text()

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement.get(console, options, self.text())


@dataclass(frozen=True, slots=True)
class Lines:
    """Words below each other, or beside each other without a break between them."""

    lines: tuple[Words, ...] = ()
    is_row: bool = False

    def __rich_console__(self, _: Console, __: ConsoleOptions) -> Iterator[Text]:
        if self.is_row:
            yield Text.assemble(*(line.text() for line in self.lines), no_wrap=True, overflow="ellipsis")
        else:
            yield from (line.text() for line in self.lines)


def _whole(text: str) -> str:
    """Replace inner blanks by ones that hatching leaves alone: words under it must be read."""
    inner = text.strip()
    return text.replace(inner, inner.replace(" ", "\u00a0")) if inner else text


@lru_cache
def style_of(colors: Palette, ink: Ink) -> Style:
    """An ink as a style; where colors are few, attributes tell apart what else only they would."""
    # Bold and reverse stay where a terminal has no color left: what can't send is found without it.
    is_strong = ink is Ink.STRONG or (colors.plain and ink in {Ink.BAD, Ink.STOPPED})
    return Style(
        color=colors.ink(ink),
        bold=is_strong or None,
        reverse=True if colors.plain and ink is Ink.STOPPED else None,
    )


def sign_words(tone: Tone) -> Piece:
    """The sign of a tone, before a text."""
    return (f"{SIGNS[tone]} ", TONE_INK[tone])


def width_of(pieces: Iterable[Piece]) -> int:
    """Cells."""
    return sum(cell_len(text) for text, _ in pieces)


def fit(pieces: Sequence[Piece], width: int, *, right: bool = False) -> list[Piece]:
    """The pieces in exactly so many cells: cut with a sign that says so, or filled up."""
    total = width_of(pieces)
    if total <= width:
        gap: Piece = (" " * (width - total), Ink.TEXT)
        return [gap, *pieces] if right else [*pieces, gap]
    fitted: list[Piece] = []
    room = width - cell_len(MORE)
    for text, ink in pieces:
        length = cell_len(text)
        if length > room:
            return [*fitted, (set_cell_size(text, max(0, room)) + MORE, ink)] if width > 0 else fitted
        fitted.append((text, ink))
        room -= length
    return fitted


def bar(fraction: float | None, width: int, ink: Ink) -> list[Piece]:
    """A thin line, as much of it strong as the fraction says, in halves of a cell."""
    if fraction is None:
        return [(REST * width, Ink.FAINT)]
    # The rest is a thin line and no blank, so that an empty bar is seen to be one.
    full, half = divmod(round(min(max(fraction, 0.0), 1.0) * width * 2), 2)
    return [("━" * full + "╸" * half, ink), ("─" * (width - full - half), Ink.FAINT)]


def ago(moment: datetime, *, now: datetime) -> str:
    """`now`, `12 s ago`."""
    return "now" if now - moment < timedelta(seconds=1) else f"{show_span(now - moment)} ago"


def day_and_time(at: datetime) -> str:
    """`21 Nov 14:02`."""
    return local(at).strftime("%d %b %H:%M")


def clock(at: datetime, *, now: datetime) -> str:
    """`14:02`, or `21 Nov 14:02` of another day."""
    here = local(at)
    return f"{here:%H:%M}" if here.date() == local(now).date() else day_and_time(at)
