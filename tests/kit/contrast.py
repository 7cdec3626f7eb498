"""How well the words of a terminal can be read: the contrast of their colors."""

from __future__ import annotations

from collections.abc import Iterator

from rich.color import Color
from rich.terminal_theme import TerminalTheme
from textual.screen import Screen

TERMINAL = TerminalTheme(
    (0, 0, 0),
    (170, 170, 170),
    [(0, 0, 0), (170, 0, 0), (0, 170, 0), (170, 85, 0), (0, 0, 170), (170, 0, 170), (0, 170, 170),
     (170, 170, 170)],
    [(85, 85, 85), (255, 85, 85), (85, 255, 85), (255, 255, 85), (85, 85, 255), (255, 85, 255), (85, 255, 255),
     (255, 255, 255)],
)  # fmt: skip
"""The colors of the Linux console."""
LEAST = 4.5
"""Of text, as the web's accessibility guidelines ask (https://www.w3.org/WAI/WCAG22/Understanding/contrast-minimum.html)."""


def contrast(one: str, other: str) -> float:
    """The ratio of two colors' luminances, as the web's accessibility guidelines define it."""

    def luminance(color: str) -> float:
        parts = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
        red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


GROUNDS = frozenset({"#0000aa", "#aa0000", "#aa5500"})
"""Of the sixteen colors, which are the terminal's own: behind the selected line, an alarm and what is at risk."""


def weak_words(screen: Screen[object]) -> Iterator[tuple[str, str, str, float]]:
    """What is hard to read: the words, their color, what is behind them, and the contrast."""
    for strip in screen._compositor.render_strips():
        for segment in strip:
            style = segment.style
            if style is None or not any(map(str.isalnum, segment.text)):
                continue
            color, behind = (_hex(one) for one in (style.color, style.bgcolor))
            if style.reverse:
                color, behind = behind, color
            if (found := contrast(color, behind)) < LEAST:
                yield segment.text.strip(), color, behind, round(found, 2)


def _hex(color: Color | None) -> str:
    assert color, "a color of the terminal's choice"
    return str(color.get_truecolor(TERMINAL).hex)
