"""Figures, spans and moments as the dashboard says them. Pure; unknown is a dash, never zero."""

from __future__ import annotations

from datetime import datetime

from shared.text.formats import UNKNOWN


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


def span(seconds: float) -> str:
    """A length of time in its largest unit or two: `12 s`, `4 min`, `3 h 20 min`, `2 d 4 h`."""
    whole = max(0, int(seconds))
    if whole < 90:
        return f"{whole} s"
    minutes = whole // 60
    if minutes < 90:
        return f"{minutes} min"
    hours = minutes // 60
    if hours < 48:
        rest = minutes % 60
        return f"{hours} h {rest} min" if rest and hours < 10 else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours and days < 10 else f"{days} d"


def ago(moment: datetime | None, *, now: datetime) -> str:
    """`12 s ago`; `not read yet` for what never was."""
    if moment is None:
        return "not read yet"
    seconds = (now - moment).total_seconds()
    return "now" if seconds < 1 else f"{span(seconds)} ago"


def moment(at: datetime, *, now: datetime) -> str:
    local, today = at.astimezone(), now.astimezone()
    return local.strftime("%H:%M" if local.date() == today.date() else "%d %b %H:%M")
