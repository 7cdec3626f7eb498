"""Counts, rates, lengths of time, moments and bars as text, for every front end. Pure; unknown is a dash, never zero."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo

UNKNOWN = "–"


def show_count(value: float | None) -> str:
    """`12,345`, or a dash."""
    return UNKNOWN if value is None else f"{value:,.0f}"


def show_number(count: int | None, noun: str) -> str:
    """`1 inbox`, `12 inboxes`, `– replies`: the noun is given in the singular."""
    return f"{show_count(count)} {noun if count == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """`sequences`, `unhealthy inboxes`, `interested replies`."""
    first, space, last = noun.rpartition(" ")
    return f"{first}{space}{ {'inbox': 'inboxes', 'reply': 'replies'}.get(last, f'{last}s') }"


def show_some(names: Sequence[str], most: int, *, separator: str = ", ") -> str:
    """`Alpha, Beta and 3 more`: so many of the names, and how many others there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return separator.join(names[:most]) + more


def show_rate(fraction: float | None) -> str:
    """`4.2%`, or a dash."""
    return UNKNOWN if fraction is None else f"{fraction * 100:.1f}%"


def show_change(fraction: float) -> str:
    """`▲ 12%`, `▼ 3%` or `=`."""
    percent = round(abs(fraction) * 100)
    return f"{'▲' if fraction > 0 else '▼'} {percent}%" if percent else "="


def show_span(span: timedelta) -> str:
    """`40 s`, `3 min`, `2 h 5 min`, `3 days`: rounded down, hours with their minutes."""
    seconds = max(int(span.total_seconds()), 0)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min"
    if seconds < 172_800:
        return f"{seconds // 3600} h {seconds % 3600 // 60} min".removesuffix(" 0 min")
    return f"{seconds // 86_400} days"


def short_duration(span: timedelta) -> str:
    """`1d12h`, `30m`: what `tokenize.parse_duration` reads back; whole seconds."""
    seconds, shown = int(span.total_seconds()), ""
    for unit, size in (("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)):
        count, seconds = divmod(seconds, size)
        shown += f"{count}{unit}" if count else ""
    return shown or "0s"


def show_time(at: datetime, *, now: datetime, zone: tzinfo = UTC) -> str:
    """`16:40 UTC`, `22 Nov 16:40 CET`, `3 Jan 2027 09:00 CET`: with what of the date is another than now."""
    at, now = at.astimezone(zone), now.astimezone(zone)
    year = f" {at.year}" if at.year != now.year else ""
    day = "" if at.date() == now.date() else f"{at.day} {at:%b}{year} "
    return f"{day}{at:%H:%M %Z}"


def show_days(first: date, last: date) -> str:
    """`Friday 20 November`, `14 to 20 November`, `24 February to 2 March`; with years where they differ."""
    if first == last:
        return f"{last:%A %-d %B}"
    if first.year != last.year:
        return f"{first:%-d %B %Y} to {last:%-d %B %Y}"
    month = "" if first.month == last.month else f"{first: %B}"
    return f"{first.day}{month} to {last:%-d %B}"


def clip(text: str, *, length: int = 60) -> str:
    """A text in one line of at most `length` characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"


def clip_name(name: str) -> str:
    """A name among others, in one line of at most 40 characters."""
    return clip(name, length=40)
