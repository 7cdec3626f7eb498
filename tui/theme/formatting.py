"""Short counts, ages and local times, as the dashboard shows them. Pure; unknown is a dash, never zero."""

from __future__ import annotations

from datetime import datetime, timedelta

from shared.domain.local_zone import local
from shared.text.formats import UNKNOWN, show_exact_span


def short_count(number: float | None) -> str:
    """At most five characters: `12,482` is `12.5k`."""
    if number is None:
        return UNKNOWN
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(number) >= size:
            scale = 1e3 if unit == "k" else size
            shown = f"{number / scale:.1f}" if abs(number) < 100 * scale else f"{number / scale:.0f}"
            return f"{shown}{unit}"
    return f"{number:.0f}"


def ago(moment: datetime | None, *, now: datetime) -> str:
    """`12 s ago`; `not read yet` for what never was."""
    if moment is None:
        return "not read yet"
    return "now" if now - moment < timedelta(seconds=1) else f"{show_exact_span(now - moment)} ago"


def moment(at: datetime, *, now: datetime) -> str:
    here = local(at)
    return here.strftime("%H:%M" if here.date() == local(now).date() else "%d %b %H:%M")
