"""The panels for a screen size, and the number of lines of each. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

PANELS = ("inboxes", "sequences", "changes", "domains")
"""In the order in which they follow each other."""
REPLIES = "replies"
"""A page among the panels: it has a number and a tab, as they have."""
NUMBERS = {"inboxes": 1, "sequences": 2, REPLIES: 5, "changes": 6, "domains": 7}
"""The keys of the panels; their tabs stand in this order."""
LEFT = ("domains", "inboxes")
MIDDLE = ("sequences",)
LAST = ("changes",)
"""The columns of panels, from above."""
IMPORTANCE = ("inboxes", "sequences", "changes", "domains")
SMALLEST = (60, 20)
NORMAL, WIDE = 100, 180
"""Columns from which there are two, and three, columns of panels."""
MEDIUM, TALL = 30, 42
"""Lines from which the figures have two lines, and large numerals."""
WIDTHS = [(0, "-narrow"), (NORMAL, "-normal"), (WIDE, "-wide")]
HEIGHTS = [(0, "-short"), (MEDIUM, "-medium"), (TALL, "-tall")]
"""The classes that a screen has from so many columns, and lines, on."""
HEAD = 2
"""Lines of a panel beside those of its list: its name and the titles."""
LEAST = 5
"""Lines of a panel below which it is left out."""
GAP = 1


def too_small(width: int, height: int) -> str:
    """What a window shows that has no room for the board; empty where it has."""
    if width >= SMALLEST[0] and height >= SMALLEST[1]:
        return ""
    least = f"{SMALLEST[0]}×{SMALLEST[1]}"
    return f"This window is {width}×{height}.\nThe dashboard needs {least}.\nPress q to quit."


def page_lists_height(longest: int, height: int) -> int:
    """The lines that the lists of a page get below its plot: no more than they need, and two fifths at most."""
    return max(LEAST, min(HEAD + longest, (height - LEAST) * 2 // 5))


def columns(width: int) -> tuple[tuple[str, ...], ...]:
    if width < NORMAL:
        return ((*LEFT, *MIDDLE, *LAST),)
    return (LEFT, MIDDLE, LAST) if width >= WIDE else (LEFT, (*MIDDLE, *LAST))


def heights(width: int, room: int, *, active: str, lines: Mapping[str, int]) -> dict[str, int]:
    """The panels to show and their heights in `room` lines; the active one is always shown.

    A short list takes no more than it needs, so that the others show more; what no list needs is shared by all.
    """
    shown: dict[str, int] = {}
    for names in columns(width):
        wanted = {name: max(HEAD + lines.get(name, 0), LEAST) for name in names}
        kept = _kept(names, wanted=wanted, room=room, active=active, whole=width < NORMAL)
        shown |= _shared(kept, wanted=wanted, room=room)
    return shown


def _kept(
    names: Sequence[str], *, wanted: Mapping[str, int], room: int, active: str, whole: bool
) -> list[str]:
    """The panels that have room, the active one first; `whole` leaves out others before that one is cut."""
    taken = -GAP
    kept: set[str] = set()
    for name in sorted(names, key=lambda name: (name != active, IMPORTANCE.index(name))):
        needed = GAP + (wanted[name] if whole and name == active else LEAST)
        if not kept or taken + needed <= room:
            kept.add(name)
            taken += needed
    return [name for name in names if name in kept]


def _shared(kept: Sequence[str], *, wanted: Mapping[str, int], room: int) -> dict[str, int]:
    left = room - GAP * (len(kept) - 1)
    shown: dict[str, int] = {}
    for number, name in enumerate(sorted(kept, key=lambda name: wanted[name])):
        shown[name] = max(1, min(wanted[name], left // (len(kept) - number)))
        left -= shown[name]
    for number in range(max(0, left)):
        shown[kept[number % len(kept)]] += 1
    return shown
