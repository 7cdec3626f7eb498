"""The arguments of `pause`: a sequence, a duration or end, and a reason. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Self

from shared.commands import times
from shared.commands.arguments import (
    ArgumentError,
    OnSequences,
    Words,
    clip,
    need_target,
    texts,
    write_target,
)
from shared.text.formats import short_duration
from shared.text.tokenize import parse_duration, quote


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
        at, duration, after = _find_duration(words)
        until = None if duration else _find_until(words)
        if until:
            at, after = until[0], until[2]
        target, rest = words[:at], words[after:]
        if duration is None and until is None:
            at = next(
                (i for i, word in enumerate(words) if i and word.is_one_of("reason", "reason:")), len(words)
            )
            at = 1 if words and words[0].quoted and not words[0].key else at
            target, rest = words[:at], words[at:]
        scope = words[:1] if words and (words[0].quoted or cls(target=texts(words[:1])).scope) else ()
        if not duration and not until and scope and (mistake := find_end_mistake(texts(words[1:]))):
            raise ArgumentError(mistake.problem, hint=mistake.hint)
        if rest and rest[0].is_one_of("reason", "reason:"):
            rest = rest[1:]
        return cls(
            target=need_target(target),
            duration=duration,
            until=until[1] if until else None,
            reason=" ".join(texts(rest)),
        )

    def write(self) -> Iterable[str]:
        yield from write_target(self.target)
        yield from _end(self.duration, self.until)
        if self.reason:
            yield from ("reason", quote(self.reason))


@dataclass(frozen=True, kw_only=True, slots=True)
class EndMistake:
    """Words that seem to say when a pause ends, and don't; with the duration or time that they are near to."""

    problem: str
    duration: timedelta | None = None
    until: times.Moment | None = None

    @property
    def end(self) -> str:
        """`for 1h`; empty where nothing is near."""
        return " ".join(_end(self.duration, self.until))

    @property
    def hint(self) -> str:
        near = f"Did you mean `{self.end}`?" if self.end else _DURATIONS
        return f"{near} A reason comes after `reason`."


def find_end_mistake(words: Sequence[str]) -> EndMistake | None:
    """What is wrong with the words after the name, where they begin like an end of the pause and not like a reason."""
    given = " ".join(words)
    if duration := parse_duration(given):
        return EndMistake(problem=f"“{clip(given)}” needs a “for”.", duration=duration)
    moment = times.read_moment(words)
    if moment and moment[1] == len(words):
        return EndMistake(problem=f"“{clip(given)}” needs an “until”.", until=moment[0])
    is_length = _LENGTH.match(given.lower())
    if not is_length and (not words or words[0].lower() != "for"):
        return None
    length = given if is_length else given.removeprefix(words[0]).strip()
    problem = f"“{clip(length)}” isn't a duration." if length else "For how long?"
    return EndMistake(problem=problem, duration=_spelled_out(length))


def _end(duration: timedelta | None, until: times.Moment | None) -> Iterable[str]:
    if duration:
        yield from ("for", short_duration(duration))
    elif until:
        yield from ("until", *str(until).split())


_LENGTH = re.compile(r"[0-9][0-9.,]*\s*(?:[smhdw]|mins?|minutes?|hrs?|hours?|days?|weeks?)\b")
_DURATIONS = "Use 30m, 2h, 1d or 1h30m, up to one year."
_COUNTS = {
    "a": 1,
    "an": 1,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "eight": 8,
    "twelve": 12,
}
_LENGTHS = {"half an hour": timedelta(minutes=30), "half a day": timedelta(hours=12)}


def _spelled_out(text: str) -> timedelta | None:
    """`an hour`, `two days`, `half an hour`."""
    found = re.match(rf"({'|'.join(_COUNTS)})\s+(min|hour|day|week)", text.lower())
    length = next((length for words, length in _LENGTHS.items() if text.lower().startswith(words)), None)
    return parse_duration(f"{_COUNTS[found[1]]}{found[2][0]}") if found else length


def _find_until(words: Words) -> tuple[int, times.Moment, int] | None:
    """Where `until monday` starts, the time, where it ends. An invalid time is refused, never ignored."""
    for at, word in enumerate(words):
        if not at or not word.is_one_of("until", "till"):
            continue
        if found := times.read_moment(list(texts(words[at + 1 : at + 1 + times.LONGEST_MOMENT]))):
            return at, found[0], at + 1 + found[1]
        given = words[at + 1].text if at + 1 < len(words) else ""
        near = times.nearest_moment(given)
        hint = (
            f"Did you mean {near}?"
            if near
            else "Use until monday, tomorrow 14:00, 16:00, 1 dec or 2026-12-01."
        )
        problem = f"“{clip(given)}” isn't a day or time." if given else "Until when?"
        raise ArgumentError(problem, hint=f"{hint} If it is part of a name, put the name in quotes.")
    return None


def _find_duration(words: Words) -> tuple[int, timedelta | None, int]:
    """Where `for 2h` begins, the duration, where it ends. A number that is none is refused, never overlooked."""
    for at, word in enumerate(words[:-1]):
        amount = words[at + 1]
        if not word.is_one_of("for") or amount.quoted or not amount.text[:1].isdigit():
            continue
        unit = words[at + 2].text if at + 2 < len(words) else ""
        long_form = re.match(r"(?:sec|min|hour|hr|day|week)", unit.lower())
        spelled = amount.text + unit[0] if amount.text.isdigit() and long_form else amount.text
        if duration := parse_duration(spelled):
            return at, duration, at + (3 if spelled != amount.text else 2)
        if not amount.text.isdigit() or not unit:
            hint = (
                "Use 30m, 2h, 1d or 1h30m, up to one year. If it is part of a name, put the name in quotes."
            )
            raise ArgumentError(f"“{clip(amount.text)}” isn't a duration.", hint=hint)
    return len(words), None, len(words)
