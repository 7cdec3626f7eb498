"""The arguments of `stats` and `report`: a grouping and a period. Pure."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Any

from shared.api.models import GROUPINGS
from shared.commands import times
from shared.commands.arguments import (
    ArgumentError,
    Grammar,
    Values,
    Words,
    clip,
    none_left,
    texts,
    unknown_word,
)
from shared.text.tokenize import Word

PERSON = "person"
STATS_GROUPS = (*GROUPINGS, PERSON)
"""What `stats` groups by: the service's own, and who claimed."""
LONGEST_RANGE = 1000
"""Days."""
LONGEST_REPORT = 366
"""Days."""


def _read_stats(words: Words) -> Values:
    by, period, rest = "sequence", _period(()), words
    if rest and rest[0].is_one_of("by"):
        rest = rest[1:]
        if not rest:
            raise ArgumentError("Group by what?", hint=f"Choose from: {', '.join(STATS_GROUPS)}.")
    if rest and rest[0].text[:1].isalpha() and not _range(rest):
        by, rest = _grouping(rest[0]), rest[1:]
    if rest:
        period, rest = _period(rest), rest[_length(rest) :]
    none_left(rest)
    return {"by": by, **period}


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


def _grouping(word: Word) -> str:
    plurals = {"inboxes": "inbox", "people": PERSON}
    singular = plurals.get(word.text.lower(), word.text.lower().removesuffix("s"))
    if word.quoted or singular not in STATS_GROUPS:
        raise unknown_word(word, (*STATS_GROUPS, *times.RANGES))
    return singular


def _period(words: Words) -> dict[str, Any]:
    if not words:
        return {"days": None, "start": None, "end": None}
    word, named = words[0], _range(words)
    text = named[0] if named else word.text.lower()
    if text == "today":
        text = "1d"
    if text in times.RANGES:
        return {"days": None, "start": None, "end": None, "named": text}
    if found := re.fullmatch(r"([0-9]{1,4})([dw])", text):
        days = int(found[1]) * (7 if found[2] == "w" else 1)
        if not 1 <= days <= LONGEST_RANGE:
            raise ArgumentError(f"“{text}” is outside 1 to 1,000 days.", hint=f"1d to {LONGEST_RANGE}d.")
        return {"days": days, "start": None, "end": None}
    if ".." in text:
        start, end = (_day(part) for part in text.split("..", 1))
        if end < start:
            raise ArgumentError(f"“{clip(text)}” ends before it starts.", hint=f"Use {end}..{start}.")
        return {"days": None, "start": start, "end": end}
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


def _write_stats(values: Values) -> list[str]:
    return ["by", values["by"], *_write_period(values)]


def _write_period(values: Values) -> list[str]:
    if values.get("named"):
        return list(values["named"].split())
    if values["start"]:
        return [f"{values['start']}..{values['end']}"]
    return [f"{values['days']}d"] if values["days"] else []


def _read_report(words: Words) -> Values:
    """A period, `last-month` too; last week where none is given."""
    split = tuple(Word(text=part, quoted=word.quoted) for word in words for part in _parts(word))
    if not split:
        return {**_period(()), "named": "last week"}
    none_left(split[_length(split) :])
    found = _period(split)
    start, end = found["start"], found["end"]
    if (found["days"] or 0) > LONGEST_REPORT or (start and (end - start).days >= LONGEST_REPORT):
        raise ArgumentError("A report covers at most a year.", hint=f"Give at most {LONGEST_REPORT} days.")
    return found


def _parts(word: Word) -> list[str]:
    named = word.text.lower().replace("-", " ")
    return named.split() if named in times.RANGES and not word.quoted else [word.text]


STATS = Grammar(read=_read_stats, write=_write_stats)
REPORT = Grammar(read=_read_report, write=_write_period)
