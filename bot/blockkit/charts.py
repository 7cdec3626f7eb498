"""A Chart as data_visualization blocks. Pure.

Limits: docs.slack.dev/reference/block-kit/blocks/data-visualization-block. Every category needs a value, and an unknown
value is not zero: a category without all of its values is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bot.blockkit import tables
from bot.blockkit.elements import Block, cut
from shared.domain.card import Chart
from shared.text.sanitize import visible

TITLE, LABEL, CATEGORIES, SERIES, MOST = 50, 20, 20, 6, 2
FLATTENED = 5
"""A series whose peak is so many times below the highest has its own chart, where it is more than a flat line."""

Series = tuple[str, tuple[float | None, ...]]


def draw(charts: Sequence[Chart]) -> list[Block]:
    """As many as a message may have; one alone becomes two where one scale would flatten a series."""
    drawn: list[Block | None] = []
    for chart in charts[:MOST]:
        split = len(charts) == 1 and not chart.bars
        groups = _by_scale(chart.series) if split else [chart.series]
        drawn += [
            _block(chart, group, title=_title(chart, group) if len(groups) > 1 else chart.title)
            for group in groups
        ]
    return [block for block in drawn if block]


def _by_scale(series: Sequence[Series]) -> list[tuple[Series, ...]]:
    peaks = [max((value for value in values if value is not None), default=0) for _, values in series]
    top = max(peaks, default=0)
    high = tuple(one for one, peak in zip(series, peaks, strict=True) if peak * FLATTENED >= top)
    low = tuple(one for one, peak in zip(series, peaks, strict=True) if peak * FLATTENED < top)
    return [group for group in (high, low) if group][:MOST]


def _title(chart: Chart, group: Sequence[Series]) -> str:
    return f"{', '.join(name for name, _ in group)}: {chart.title}"


def _block(chart: Chart, group: Sequence[Series], *, title: str) -> Block | None:
    group = group[:SERIES]
    known = [
        place for place in range(len(chart.labels)) if all(_is_drawable(values[place]) for _, values in group)
    ][-CATEGORIES:]
    if not known or not group:
        return None
    categories = _distinct([chart.labels[place] for place in known])
    names = _distinct([name for name, _ in group])
    series = [
        {
            "name": name,
            "data": [
                {"label": label, "value": values[place]}
                for label, place in zip(categories, known, strict=True)
            ],
        }
        for name, (_, values) in zip(names, group, strict=True)
    ]
    drawn: dict[str, Any] = {
        "type": "bar" if chart.bars else "line",
        "series": series,
        "axis_config": {"categories": categories},
    }
    shown = cut(visible(title).strip(), TITLE) or "Chart"
    return {"type": "data_visualization", "title": shown, "chart": drawn}


def _is_drawable(value: float | None) -> bool:
    return value is not None and abs(value) <= tables.LARGEST


def _distinct(names: Sequence[str]) -> list[str]:
    """Names within their limit; one that is empty, or like another, has its number in it."""
    found: list[str] = []
    for number, name in enumerate(names, 1):
        shown = cut(visible(name).strip(), LABEL)
        if not shown or shown in found:
            mark = f" #{number}"
            shown = shown[: LABEL - len(mark)].strip() + mark
        found.append(shown.strip())
    return found
