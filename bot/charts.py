"""A Chart as a picture, or as text where no picture may be sent. Pure: values in, bytes out."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

from PIL import Image, ImageDraw, ImageFont

from shared.card import Chart, Fact
from shared.plain import visible
from shared.reports import show_count, sparkline

WIDTH, HEIGHT, SCALE = 720, 300, 2
"""Points; each is drawn as SCALE pixels, so that it is sharp on any screen."""
LEFT, RIGHT, TOP, BOTTOM = 24, 24, 64, 36
PAPER, INK, FAINT, GRID = "#ffffff", "#1d1c1d", "#77767a", "#e8e6e1"
COLOURS = ("#3b6fb6", "#1f7a63", "#d08a1d")
BAR_ROW, NAMES = 30, 230
LONGEST_NAME = 32
_GLYPHS = str.maketrans({"–": "-", "—": "-", "’": "'", "“": '"', "”": '"'})
"""What the library's own font lacks, which is on every machine alike."""


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
    said = (
        f"{name}: " + ", ".join(show_count(value) for value in values[-7:]) for name, values in chart.series
    )
    return f"{chart.title}. {'; '.join(said)}"


def picture(chart: Chart) -> bytes:
    """A PNG: lines over time, one panel per series, or bars by group."""
    height = TOP + len(chart.labels) * BAR_ROW + 12 if chart.bars else HEIGHT
    image = Image.new("RGB", (WIDTH * SCALE, height * SCALE), PAPER)
    pen = Pen(ImageDraw.Draw(image))
    pen.text((LEFT, 18), visible(chart.title), size=16, colour=INK)
    if chart.bars:
        _bars(pen, chart)
    else:
        _panels(pen, chart, height=height)
    out = io.BytesIO()
    image.save(out, format="PNG", optimize=True)
    return out.getvalue()


class Pen:
    """Draws in points."""

    def __init__(self, draw: ImageDraw.ImageDraw) -> None:
        self._draw = draw

    def text(
        self, at: tuple[float, float], text: str, *, size: float, colour: str, anchor: str = "la"
    ) -> None:
        """Words; `anchor` as Pillow has it (la: left, ascender)."""
        font = ImageFont.load_default(size * SCALE)
        self._draw.text(
            (at[0] * SCALE, at[1] * SCALE), text.translate(_GLYPHS), font=font, fill=colour, anchor=anchor
        )

    def line(self, points: Sequence[tuple[float, float]], *, colour: str, width: float) -> None:
        """A line through the points; a single one is a dot."""
        scaled = [(x * SCALE, y * SCALE) for x, y in points]
        if len(scaled) > 1:
            self._draw.line(scaled, fill=colour, width=round(width * SCALE), joint="curve")
        for x, y in scaled[-1:]:
            dot = 3 * SCALE
            self._draw.ellipse((x - dot, y - dot, x + dot, y + dot), fill=colour)

    def rule(self, x: float, y: float, *, to: float) -> None:
        """A faint horizontal line."""
        self._draw.line((x * SCALE, y * SCALE, to * SCALE, y * SCALE), fill=GRID, width=SCALE)

    def bar(self, x: float, y: float, *, length: float, thickness: float, colour: str) -> None:
        """A horizontal bar."""
        box = (x * SCALE, y * SCALE, (x + max(length, 1)) * SCALE, (y + thickness) * SCALE)
        self._draw.rounded_rectangle(box, radius=2 * SCALE, fill=colour)


def _panels(pen: Pen, chart: Chart, *, height: int) -> None:
    """One panel a series, each on its own scale: sends would flatten everything else."""
    gap = 24
    width = (WIDTH - LEFT - RIGHT - gap * (len(chart.series) - 1)) / len(chart.series)
    for n, (name, values) in enumerate(chart.series):
        x, colour = LEFT + n * (width + gap), COLOURS[n % len(COLOURS)]
        known = [value for value in values if value is not None]
        top = max(known, default=0) or 1
        pen.text((x, TOP - 16), name, size=12, colour=FAINT)
        pen.text((x, TOP), show_count(known[-1] if known else None), size=22, colour=colour)
        floor, ceiling = height - BOTTOM, TOP + 44
        pen.rule(x, floor, to=x + width)
        for points in _runs(values, x=x + 4, width=width - 8, floor=floor, ceiling=ceiling, top=top):
            pen.line(points, colour=colour, width=2)
        pen.text((x, floor + 10), chart.labels[0], size=11, colour=FAINT)
        pen.text((x + width, floor + 10), chart.labels[-1], size=11, colour=FAINT, anchor="ra")


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
    top, room = max(known, default=0) or 1, WIDTH - RIGHT - NAMES - 60
    for n, (name, _) in enumerate(chart.series):
        pen.text((NAMES + n * 110, TOP - 22), name, size=12, colour=COLOURS[n + 1])
    for row, label in enumerate(chart.labels):
        y = TOP + row * BAR_ROW
        short = label if len(label) <= LONGEST_NAME else f"{label[: LONGEST_NAME - 1]}…"
        pen.text((LEFT, y + 4), visible(short), size=12, colour=INK)
        for n, (_, values) in enumerate(chart.series):
            value = values[row]
            if value is not None:
                y_bar, length = y + n * 11, room * value / top
                pen.bar(NAMES, y_bar, length=length, thickness=8, colour=COLOURS[n + 1])
                pen.text((NAMES + length + 6, y_bar - 2), f"{value:g} %", size=9, colour=FAINT)
