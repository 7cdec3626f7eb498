"""How well words can be read: the contrast of their colors."""

from __future__ import annotations

from rich.terminal_theme import TerminalTheme

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
