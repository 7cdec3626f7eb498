"""`pause SEQUENCE [for 2h] [reason …]`: the words of its end, and the command."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Self

from shared.commands import times
from shared.commands.base import (
    ArgumentError,
    Command,
    OnSequences,
    Words,
    clip,
    need_target,
    texts,
)
from shared.domain.roles import Role
from shared.text.formats import short_duration
from shared.text.tokenize import parse_duration, quote

if TYPE_CHECKING:
    from shared.commands.base import Question, Result
    from shared.commands.run import CommandContext


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Pause(OnSequences):
    """`pause SEQUENCE [for 2h] [reason …]`."""

    verb = "pause"
    duration: timedelta | None = None
    until: times.Moment | None = None
    """Where no duration is given."""
    reason: str = ""

    @classmethod
    def read(cls, words: Words) -> Self:
        reason = next((at for at, word in enumerate(words) if at and word.is_one_of(*_REASON)), len(words))
        named, end = _split_end(words[:reason], is_scope=bool(cls(target=texts(words[:1])).scope))
        return cls(
            target=need_target(named),
            duration=end.duration,
            until=end.until,
            reason=" ".join(texts(words[reason + 1 :])),
        )

    def write(self) -> Iterable[str]:
        yield from super().write()
        yield from _end(self.duration, self.until)
        if self.reason:
            yield from ("reason", quote(self.reason))


@dataclass(frozen=True, kw_only=True, slots=True)
class End:
    """When a pause ends: after a duration, at a moment, or only when a person resumes."""

    duration: timedelta | None = None
    until: times.Moment | None = None

    def __str__(self) -> str:
        return " ".join(_end(self.duration, self.until))


@dataclass(frozen=True, kw_only=True, slots=True)
class EndMistake:
    """Words that seem to say when a pause ends, and don't; with the end that they are near to."""

    problem: str
    near: End | None = None

    @property
    def hint(self) -> str:
        near = f"Did you mean `{self.near}`?" if self.near else _ENDS
        return f"{near} A reason comes after `reason`."


def read_end(words: Sequence[str]) -> End | None:
    """The end that all the words tell: `2h`, `for a week`, `for the weekend`, `til tomorrow morning`."""
    if not words:
        return None
    first, rest = words[0].lower(), " ".join(words[1:]).lower()
    if first in UNTIL:
        found = times.read_moment(words[1:])
        return End(until=found[0]) if found and found[1] == len(words) - 1 else None
    if first == "for":
        return _WEEKEND if rest in {"the weekend", "weekend"} else _spelled_out(rest)
    return _spelled_out(" ".join(words).lower()) if first[:1].isdigit() else None


def end_mistake(words: Sequence[str]) -> EndMistake:
    """What is wrong with the words after a name, and the nearest end that would be right."""
    given = " ".join(words)
    first, rest = words[0].lower(), words[1:]
    moment = times.read_moment(words)
    if moment and moment[1] == len(words):
        return EndMistake(problem=f"“{clip(given)}” needs an “until”.", near=End(until=moment[0]))
    if first in UNTIL:
        problem = f"“{clip(' '.join(rest))}” isn't a day or time." if rest else "Until when?"
    elif first == "for" or first[:1].isdigit():
        length = " ".join(rest if first == "for" else words)
        problem = f"“{clip(length)}” isn't a duration." if length else "For how long?"
    else:
        problem = f"“{clip(given)}” isn't a duration, a day or a time."
    return EndMistake(problem=problem, near=_nearest_end(words))


def _nearest_end(words: Sequence[str]) -> End | None:
    """The longest beginning that is an end; else the one that is spelled most alike."""
    import difflib  # late: only a mistake pays for its import

    begun = (read_end(words[:count]) for count in range(len(words) - 1, 0, -1))
    near = next(filter(None, begun), None)
    typed = " ".join("until" if at == 0 and word.lower() in UNTIL else word for at, word in enumerate(words))
    alike = difflib.get_close_matches(typed.lower()[:60], _FORMS, n=1, cutoff=0.8)
    return read_end(alike[0].split()) if alike else near


def _end(duration: timedelta | None, until: times.Moment | None) -> Iterable[str]:
    if duration:
        yield from ("for", short_duration(duration))
    elif until:
        yield from ("until", *str(until).split())


UNTIL = ("until", "till", "til")
_REASON = ("reason", "reason:")
_WEEKEND = End(until=times.Moment(day="monday", not_today=True))
"""The weekend is over on Monday morning; said on a Monday, the coming one is meant."""
_ENDS = (
    "Use `for 2h`, `for 1h30m`, `for a week`, `until monday 09:00` or `until 2026-12-01`; at most one year."
)
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_COUNTS = {"a": "1", "an": "1", **{word: str(n) for n, word in enumerate(_NUMBERS, 1)}}
_LENGTHS = {"half an hour": timedelta(minutes=30), "half a day": timedelta(hours=12)}
_PART = re.compile(
    rf"\b(?:({'|'.join(_COUNTS)})\s+|([0-9]+)\s*)(s|m|h|d|w|seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?)\b"
)
_FORMS = (
    "for the weekend",
    *(f"for {length}" for length in ("an hour", "a day", "a week", "two hours", "two days", "two weeks")),
    *(f"until {day}" for day in (*times.DAYS, times.TODAY, times.TOMORROW)),
    *(f"until {day} morning" for day in (*times.DAYS, times.TOMORROW)),
)
"""Ends as people write them, for those that are misspelled."""


def _spelled_out(text: str) -> End | None:
    """`2h`, `1h30m`, `2 hours`, `an hour`, `1 day and 2 hours`, `half an hour`."""
    if not (length := _LENGTHS.get(text) or parse_duration(text)):
        parts = _PART.findall(text)
        left = _PART.sub("", text).replace("and", "").strip()
        spelled = "".join(f"{_COUNTS.get(word, number)}{unit[0]}" for word, number, unit in parts)
        length = None if left else parse_duration(spelled)
    return End(duration=length) if length else None


def _split_end(words: Words, *, is_scope: bool) -> tuple[Words, End]:
    """The words that name the sequence, and the end after them.

    Words that only look like an end are refused, never dropped. What a name may contain as well, like the `for` of
    “Looking for CTOs”, is left to the operation, which knows the names.
    """
    for at in range(1, len(words)):
        if not any(word.quoted for word in words[at:]) and (end := read_end(texts(words[at:]))):
            return words[:at], end
    for at in range(1, len(words)):
        if words[at].is_one_of(*UNTIL) or _is_length(words[at:]):
            raise _refused(words[at:])
    if len(words) > 1 and words[0].quoted and not words[0].key:
        raise _refused(words[1:])
    if is_scope and words[1:] and (words[1].is_one_of("for") or re.match("[0-9]+[a-z]", words[1].text)):
        raise _refused(words[1:])
    return words, End()


def _is_length(words: Words) -> bool:
    """A `for` before an amount: `for 2h30`, `for 2h please`; a name may go on like `for 50 founders`."""
    if not words[0].is_one_of("for") or not words[1:] or words[1].quoted:
        return False
    amount = words[1].text
    is_amount = amount[:1].isdigit() and (not amount.isdigit() or len(words) == 2)
    return is_amount or any(read_end(texts(words[:count])) for count in range(2, len(words)))


def _refused(words: Words) -> ArgumentError:
    mistake = end_mistake(texts(words))
    return ArgumentError(
        mistake.problem, hint=f"{mistake.hint} If it is part of a name, put the name in quotes."
    )


async def _run(arguments: Pause, context: CommandContext) -> Result | Question:
    from shared.commands.running import pausing

    return await pausing.plan(arguments, context)


COMMAND = Command(
    arguments=Pause,
    run=_run,
    rank=30,
    aliases=("stop",),
    usage="SEQUENCE [for 2h] [reason …]",
    summary="Pause a sequence, or all of them, until you resume it or for a set time",
    own_fields=frozenset({"id", "status"}),
    changes=True,
    asks=True,
    role=Role.OPERATOR,
    examples=(
        "pause sq_1",
        'pause "Q3 founders" for 2h reason bounces are high',
        "pause sq_1 until monday 9am",
        "pause sq_1 for the weekend",
        "pause all",
        "pause domain:acme.com",
    ),
)
