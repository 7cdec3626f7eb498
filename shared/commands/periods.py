"""The arguments of `stats`, `report` and `replies`: a grouping, a period, a page. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime

from shared.commands import times
from shared.commands.base import (
    ArgumentError,
    Words,
    clip,
    texts,
)

LONGEST_RANGE = 1000
"""Days."""


@dataclass(frozen=True, kw_only=True)
class Period:
    """So many days to today, a range of days by its ends or its name, or the service's own 30 days."""

    days: int | None = None
    ends: tuple[date, date] | None = None
    name: str = ""

    def write(self) -> Iterable[str]:
        if self.name:
            return self.name.split()
        if self.ends:
            return (f"{self.ends[0]}..{self.ends[1]}",)
        if self.days == 1:
            return ("today",)
        return (f"{self.days}d",) if self.days else ()


def named_range(words: Words) -> tuple[str, int] | None:
    """A range of days that has a name, or `last 7 days`."""
    return None if words[0].quoted else times.read_range(texts(words)) or _last_days(words)


def _last_days(words: Words) -> tuple[str, int] | None:
    text = " ".join(texts(words[:3])).lower()
    found = re.fullmatch(r"(?:last|past) ([0-9]{1,4}) (day|week)s?", text)
    return (f"{found[1]}{found[2][0]}", 3) if found else None


def period_length(words: Words) -> int:
    """How many words tell the period that they begin with."""
    found = named_range(words)
    return found[1] if found else 1


def read_period(words: Words) -> Period:
    word, named = words[0], named_range(words)
    text = named[0] if named else word.text.lower()
    if text == "today":
        text = "1d"
    if text in times.RANGES:
        return Period(name=text)
    if found := re.fullmatch(r"([0-9]{1,4})([dw])", text):
        days = int(found[1]) * (7 if found[2] == "w" else 1)
        if not 1 <= days <= LONGEST_RANGE:
            raise ArgumentError(f"“{text}” is outside 1 to 1,000 days.", hint=f"1d to {LONGEST_RANGE}d.")
        return Period(days=days)
    if ".." in text:
        start, end = (_day(part) for part in text.split("..", 1))
        if end < start:
            raise ArgumentError(f"“{clip(text)}” ends before it starts.", hint=f"Use {end}..{start}.")
        return Period(ends=(start, end))
    raise ArgumentError(
        f"“{clip(word.text)}” isn't a period.",
        hint="Use 7d, today, yesterday, last week, this month, or FROM..TO like 2026-01-01..2026-01-31.",
    )


def _day(text: str) -> date:
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).date()
    except ValueError:
        problem = f"“{clip(text)}” isn't a date." if text else "A range needs a start and an end."
        raise ArgumentError(problem, hint="Use FROM..TO with dates like 2026-01-31.") from None
