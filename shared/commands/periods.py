"""The arguments of `stats`, `report` and `replies`: a grouping, a period, a page. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Literal, Self

from shared.api.words import GROUPINGS, Grouping
from shared.commands import times
from shared.commands.arguments import (
    ArgumentError,
    Arguments,
    Words,
    clip,
    none_left,
    texts,
    unknown_word,
)
from shared.text.tokenize import Word

PERSON: Literal["person"] = "person"
STATS_GROUPS: tuple[Grouping | Literal["person"], ...] = (*GROUPINGS, PERSON)
"""What `stats` groups by: the service's own, and who claimed."""
LONGEST_RANGE = 1000
"""Days."""
LONGEST_REPORT = 366
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


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Stats(Arguments):
    """`stats [by sequence|step|variant|inbox|person] [7d|last week|FROM..TO]`."""

    verb = "stats"
    by: Grouping | Literal["person"] = "sequence"
    period: Period = Period()

    @classmethod
    def read(cls, words: Words) -> Self:
        given, rest = cls(), words
        if rest and rest[0].is_one_of("by"):
            rest = rest[1:]
            if not rest:
                raise ArgumentError("Group by what?", hint=f"Choose from: {', '.join(STATS_GROUPS)}.")
        if rest and rest[0].text[:1].isalpha() and not _range(rest):
            given, rest = cls(by=_grouping(rest[0])), rest[1:]
        if rest:
            given, rest = replace(given, period=_period(rest)), rest[_length(rest) :]
        none_left(rest)
        return given

    def write(self) -> Iterable[str]:
        by = () if self.by == "sequence" else ("by", self.by)
        return (*by, *self.period.write())


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Report(Arguments):
    """`report [last week|last month|7d|FROM..TO]`."""

    verb = "report"
    period: Period = Period(name="last week")

    @classmethod
    def read(cls, words: Words) -> Self:
        """A period, `last-month` too; last week where none is given."""
        split = tuple(Word(text=part, quoted=word.quoted) for word in words for part in _parts(word))
        if not split:
            return cls()
        none_left(split[_length(split) :])
        found = _period(split)
        days = (found.ends[1] - found.ends[0]).days + 1 if found.ends else found.days or 0
        if days > LONGEST_REPORT:
            raise ArgumentError(
                "A report covers at most a year.", hint=f"Give at most {LONGEST_REPORT} days."
            )
        return cls(period=found)

    def write(self) -> Iterable[str]:
        return self.period.write()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Replies(Arguments):
    """`replies [mine|today|last week|7d|FROM..TO|PAGE]`."""

    verb = "replies"
    page: int | None = None
    mine: bool = False
    """What the person has claimed and not marked done, instead of what is unclaimed."""
    period: Period | None = None
    """Who replied then, claimed or not, instead of what is unclaimed."""

    @classmethod
    def read(cls, words: Words) -> Self:
        if not words:
            return cls()
        if words[0].is_one_of("mine"):
            none_left(words[1:])
            return cls(mine=True)
        if not words[0].quoted and re.fullmatch(r"[1-9][0-9]{0,3}", words[0].text):
            none_left(words[1:])
            return cls(page=int(words[0].text))
        if words[0].text.isdigit():
            raise ArgumentError(
                f"“{clip(words[0].text)}” isn't a page.", hint="Use 1 to 9999, as in `replies 2`."
            )
        if words[0].quoted or (words[0].text[:1].isalpha() and not _range(words)):
            raise unknown_word(words[0], ("mine", *times.RANGES))
        none_left(words[_length(words) :])
        return cls(period=_period(words))

    def write(self) -> Iterable[str]:
        if self.period:
            return self.period.write()
        return ("mine",) if self.mine else (str(self.page),) if self.page else ()


def _range(words: Words) -> tuple[str, int] | None:
    """A range of days that has a name, or `last 7 days`."""
    return None if words[0].quoted else times.read_range(texts(words)) or _last_days(words)


def _last_days(words: Words) -> tuple[str, int] | None:
    text = " ".join(texts(words[:3])).lower()
    found = re.fullmatch(r"(?:last|past) ([0-9]{1,4}) (day|week)s?", text)
    return (f"{found[1]}{found[2][0]}", 3) if found else None


def _length(words: Words) -> int:
    """How many words tell the period that they begin with."""
    found = _range(words)
    return found[1] if found else 1


def _grouping(word: Word) -> Grouping | Literal["person"]:
    plurals = {"inboxes": "inbox", "people": PERSON}
    singular = plurals.get(word.text.lower(), word.text.lower().removesuffix("s"))
    for group in STATS_GROUPS:
        if group == singular and not word.quoted:
            return group
    raise unknown_word(word, (*STATS_GROUPS, *times.RANGES))


def _period(words: Words) -> Period:
    word, named = words[0], _range(words)
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


def _parts(word: Word) -> list[str]:
    named = word.text.lower().replace("-", " ")
    return named.split() if named in times.RANGES and not word.quoted else [word.text]
