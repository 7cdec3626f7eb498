"""Charts as inline SVG: shapes only, stretched to any width; the words around them are HTML, so they stay legible. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

WIDTH, HEIGHT = 1000, 150
GAP = 0.22
"""The part of a bar's room that is left empty."""


def bars(
    labels: Sequence[str], series: Sequence[tuple[str, str, Sequence[int | None]]], *, title: str
) -> str:
    """Bars side by side; each series has a name, a class for its color, and a value, or None, per label."""
    top = max((value or 0 for _, _, values in series for value in values), default=0)
    if not labels or not top:
        return ""
    room = WIDTH / len(labels)
    width = room * (1 - GAP) / len(series)
    shapes = []
    for index, label in enumerate(labels):
        description = ", ".join(f"{name} {_shown(values[index])}" for name, _, values in series)
        left = index * room + room * GAP / 2
        rects = "".join(
            _rect(left + place * width, width, (values[index] or 0) / top, style=style)
            for place, (_, style, values) in enumerate(series)
        )
        shapes.append(f"<g><title>{escape(label)}: {escape(description)}</title>{rects}</g>")
    legend = "".join(f'<span class="key {style}">{escape(name)}</span>' for name, style, _ in series)
    ends = f"<span>{escape(labels[0])}</span><span>{escape(labels[-1])}</span>" if len(labels) > 1 else ""
    return (
        f'<figure><figcaption>{escape(title)} <span class="legend">{legend}</span></figcaption>'
        f'<p class="top">{top:,}</p>'
        f'<svg class="bars" viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(title)}">{"".join(shapes)}</svg><p class="ends">{ends}</p></figure>'
    )


def _shown(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"


def _rect(left: float, width: float, share: float, *, style: str) -> str:
    tall = share * HEIGHT
    return f'<rect class="{style}" x="{left:.1f}" y="{HEIGHT - tall:.1f}" width="{width:.1f}" height="{tall:.1f}"/>'


def meter(score: float | None, *, style: str) -> str:
    """A score from 0 to 100 as a bar."""
    if score is None:
        return ""
    filled = min(max(score, 0.0), 100.0)
    return (
        '<svg class="meter" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="rail" width="100" height="8"/><rect class="{style}" width="{filled:.1f}" height="8"/></svg>'
    )


def course(values: Sequence[float], *, title: str) -> str:
    """A score from 0 to 100 over time, as a line."""
    if len(values) < 2:
        return ""
    step = 100 / (len(values) - 1)
    points = " ".join(
        f"{index * step:.1f},{20 - min(max(value, 0.0), 100.0) / 5:.1f}" for index, value in enumerate(values)
    )
    return (
        f'<svg class="course" viewBox="0 0 100 20" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(title)}"><polyline points="{points}"/></svg>'
    )
