"""Which panels a screen of a given size shows. Pure."""

from __future__ import annotations

PANELS = ("inboxes", "sequences", "stats", "interested", "changes")
SMALLEST = (60, 20)
NORMAL, WIDE = 100, 180
"""Columns from which there are two, and three, columns of panels."""
MEDIUM, TALL = 30, 42
"""Lines from which two, and all, panels of a column are shown."""
WIDTHS = [(0, "-narrow"), (NORMAL, "-normal"), (WIDE, "-wide")]
HEIGHTS = [(0, "-short"), (MEDIUM, "-medium"), (TALL, "-tall")]
"""The classes that a screen has from so many columns, and lines, on."""


def too_small(width: int, height: int) -> bool:
    return width < SMALLEST[0] or height < SMALLEST[1]


def shown(width: int, height: int, *, active: str) -> frozenset[str]:
    """The panels to show; the active one always is."""
    if width < NORMAL:
        return frozenset({active})
    if width >= WIDE:
        if height >= MEDIUM:
            return frozenset(PANELS)
        column = {"sequences": "sequences", "stats": "stats"}.get(active, "sequences")
        return frozenset({"inboxes", column, "changes" if active == "changes" else "interested"})
    others = [name for name in PANELS if name != "inboxes"]
    if height >= TALL:
        return frozenset(PANELS)
    beside = active if active != "inboxes" else "sequences"
    if height < MEDIUM:
        return frozenset({"inboxes", beside})
    second = next(name for name in ("sequences", "stats", *others) if name != beside)
    return frozenset({"inboxes", beside, second})
