"""A Chart as a picture, or as text where no picture may be sent. Pure: values in, bytes out."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

from PIL import Image, ImageDraw
from PIL.ImageFont import FreeTypeFont

from bot.blockkit.fonts import Letters
from shared.domain.card import Chart, Fact
from shared.text.formats import show_count, sparkline
from shared.text.sanitize import visible

WIDTH, HEIGHT, SCALE = 540, 250, 3
"""Points; each is drawn as SCALE pixels. Slack shows a picture about so wide, on a telephone narrower."""
LEFT, RIGHT, TOP, BOTTOM = 20, 20, 66, 32
PAPER, INK, FAINT, GRID = "#ffffff", "#1d1c1d", "#6b6a6e", "#e8e6e1"
COLOURS = ("#3b6fb6", "#1f7a63", "#c77d12")
BAR_ROW, BAR, NAMES, FIGURES = 34, 10, 190, 52
"""Points: of a row, a bar, the column of names, the room right of the longest bar."""
LETTERS = Letters()


def as_text(chart: Chart) -> tuple[Fact, ...]:
    """A line per series: its course, its lowest and its highest value."""
    if chart.bars:
        return ()
    return tuple(
        Fact(
            label=f"{name}, {len(values)} days",
            value=f"{sparkline(values)}  {show_count(min(known))}–{show_count(max(known))}",
        )
        for name, values in chart.series
        if (known := [value for value in values if value is not None])
    )


def alt_text(chart: Chart) -> str:
    """What a screen reader says in place of the picture."""
    if chart.bars:
        rows = zip(chart.labels, *(values for _, values in chart.series), strict=True)
        names = [name.lower() for name, _ in chart.series]
        parts = [f"{visible(row[0])} {_figures(names, row[1:])}" for row in rows]
    else:
        parts = [f"{name}: " + ", ".join(map(show_count, values[-7:])) for name, values in chart.series]
    return f"{chart.title}. {'; '.join(parts)}"


def _figures(names: Sequence[str], values: Sequence[float | None]) -> str:
    return ", ".join(
        f"{name} {'unknown' if value is None else f'{value:g}'}"
        for name, value in zip(names, values, strict=True)
    )


def picture(chart: Chart, *, letters: Letters = LETTERS) -> bytes:
    """A PNG: lines over time, one panel per series, or bars by group."""
    height = TOP + len(chart.labels) * BAR_ROW + 6 if chart.bars else HEIGHT
    image = Image.new("RGB", (WIDTH * SCALE, height * SCALE), PAPER)
    pen = Pen(ImageDraw.Draw(image), letters, font=letters.choose((chart.title, *chart.labels)))
    pen.text((LEFT, 16), chart.title, size=15, colour=INK)
    if chart.bars:
        _bars(pen, chart)
    else:
        _panels(pen, chart, height=height)
    out = io.BytesIO()
    image.save(out, format="PNG", optimize=True)
    return out.getvalue()


class Pen:
    """Draws in points."""

    def __init__(self, draw: ImageDraw.ImageDraw, letters: Letters, *, font: FreeTypeFont) -> None:
        self._draw, self._letters, self._font = draw, letters, font

    def text(
        self,
        at: tuple[float, float],
        text: str,
        *,
        size: float,
        colour: str,
        anchor: str = "la",
        fallback: str = "",
        room: float = WIDTH,
    ) -> None:
        """Words, or the spare ones where these cannot be drawn, cut to their room.

        `anchor` is as Pillow has it (la: left, ascender).
        """
        drawn = self._letters.draws(text, font=self._font) or self._letters.draws(fallback, font=self._font)
        if drawn is None:
            return
        font = drawn[1].font_variant(size=size * SCALE)
        words, place = _cut(drawn[0], font, room * SCALE), (at[0] * SCALE, at[1] * SCALE)
        self._draw.text(place, words, font=font, fill=colour, anchor=anchor)

    def line(self, points: Sequence[tuple[float, float]], *, colour: str, width: float) -> None:
        """A line through the points; a single one is a dot."""
        scaled = [(x * SCALE, y * SCALE) for x, y in points]
        if len(scaled) > 1:
            self._draw.line(scaled, fill=colour, width=round(width * SCALE), joint="curve")
        for x, y in scaled[-1:]:
            dot = 3 * SCALE
            self._draw.ellipse((x - dot, y - dot, x + dot, y + dot), fill=colour)

    def rule(self, x: float, y: float, *, to: float) -> None:
        self._draw.line((x * SCALE, y * SCALE, to * SCALE, y * SCALE), fill=GRID, width=SCALE)

    def bar(self, x: float, y: float, *, length: float, thickness: float, colour: str) -> None:
        box = (x * SCALE, y * SCALE, (x + max(length, 1)) * SCALE, (y + thickness) * SCALE)
        self._draw.rounded_rectangle(box, radius=2 * SCALE, fill=colour)


def _cut(text: str, font: FreeTypeFont, room: float) -> str:
    """As much of the text as there is room for."""
    if font.getlength(text) <= room:
        return text
    most = next(n for n in range(len(text), -1, -1) if font.getlength(text[:n] + "...") <= room or n == 0)
    return text[:most].rstrip() + "..."


def _panels(pen: Pen, chart: Chart, *, height: int) -> None:
    """One panel a series, each on its own scale: sends would flatten everything else."""
    gap = 22
    width = (WIDTH - LEFT - RIGHT - gap * (len(chart.series) - 1)) / len(chart.series)
    for n, (name, values) in enumerate(chart.series):
        x, colour = LEFT + n * (width + gap), COLOURS[n % len(COLOURS)]
        known = [value for value in values if value is not None]
        top = max(known, default=0) or 1
        pen.text((x, TOP - 18), name, size=12, colour=FAINT)
        pen.text((x, TOP - 2), show_count(known[-1] if known else None), size=22, colour=colour)
        floor, ceiling = height - BOTTOM, TOP + 40
        pen.rule(x, floor, to=x + width)
        for points in _runs(values, x=x + 4, width=width - 8, floor=floor, ceiling=ceiling, top=top):
            pen.line(points, colour=colour, width=2)
        half = width / 2 - 4
        pen.text((x, floor + 9), chart.labels[0], size=11, colour=FAINT, room=half)
        if len(chart.labels) > 1:
            pen.text((x + width, floor + 9), chart.labels[-1], size=11, colour=FAINT, anchor="ra", room=half)


def _runs(
    values: Sequence[float | None], *, x: float, width: float, floor: float, ceiling: float, top: float
) -> Iterator[list[tuple[float, float]]]:
    """The points of each stretch without a gap: what is unknown is not drawn as zero."""
    step = width / max(len(values) - 1, 1)
    run: list[tuple[float, float]] = []
    for n, value in enumerate([*values, None]):
        if value is not None:
            run.append((x + n * step, floor - (floor - ceiling) * value / top))
        elif run:
            yield run
            run = []


def _bars(pen: Pen, chart: Chart) -> None:
    known = [value for _, values in chart.series for value in values if value is not None]
    top, room = max(known, default=0) or 1, WIDTH - RIGHT - NAMES - FIGURES
    fallbacks = chart.fallback_labels or tuple(str(n) for n in range(1, len(chart.labels) + 1))
    for n, (name, _) in enumerate(chart.series):
        pen.text((NAMES + n * 100, TOP - 22), name, size=12, colour=COLOURS[n + 1], room=96)
    for row, label in enumerate(chart.labels):
        y = TOP + row * BAR_ROW
        pen.text((LEFT, y + 4), label, size=13, colour=INK, fallback=fallbacks[row], room=NAMES - LEFT - 10)
        for n, (_, values) in enumerate(chart.series):
            value = values[row]
            if value is not None:
                y_bar, length = y + n * (BAR + 2), room * value / top
                pen.bar(NAMES, y_bar, length=length, thickness=BAR, colour=COLOURS[n + 1])
                pen.text((NAMES + length + 6, y_bar - 1), f"{value:g} %", size=10, colour=FAINT)
