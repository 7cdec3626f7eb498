"""`stats`: counts and rates of a period."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Self

from shared.api.words import GROUPINGS, Grouping
from shared.commands import times
from shared.commands.base import ArgumentError, Arguments, Command, Words, none_left, unknown_word
from shared.commands.periods import Period, named_range, period_length, read_period
from shared.text.tokenize import Word

if TYPE_CHECKING:
    from shared.commands.base import Question, Result
    from shared.commands.run import CommandContext


PERSON: Literal["person"] = "person"
STATS_GROUPS: tuple[Grouping | Literal["person"], ...] = (*GROUPINGS, PERSON)
"""What `stats` groups by: the service's own, and who claimed."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Stats(Arguments):
    """`stats [by sequence|step|variant|inbox|person] [7d|last week|FROM..TO]`."""

    verb = "stats"
    by: Grouping | Literal["person"] = "sequence"
    period: Period = Period()  # noqa: RUF009 # frozen

    @classmethod
    def read(cls, words: Words) -> Self:
        given, rest = cls(), words
        if rest and rest[0].is_one_of("by"):
            rest = rest[1:]
            if not rest:
                raise ArgumentError("Group by what?", hint=f"Choose from: {', '.join(STATS_GROUPS)}.")
        if rest and rest[0].text[:1].isalpha() and not named_range(rest):
            given, rest = cls(by=_grouping(rest[0])), rest[1:]
        if rest:
            given, rest = replace(given, period=read_period(rest)), rest[period_length(rest) :]
        none_left(rest)
        return given

    def write(self) -> Iterable[str]:
        by = () if self.by == "sequence" else ("by", self.by)
        return (*by, *self.period.write())


def _grouping(word: Word) -> Grouping | Literal["person"]:
    plurals = {"inboxes": "inbox", "people": PERSON}
    singular = plurals.get(word.text.lower(), word.text.lower().removesuffix("s"))
    for group in STATS_GROUPS:
        if group == singular and not word.quoted:
            return group
    raise unknown_word(word, (*STATS_GROUPS, *times.RANGES))


async def _run(arguments: Stats, context: CommandContext) -> Result | Question:
    from shared.commands.running import stats_table

    return await stats_table.stats(arguments, context)


COMMAND = Command(
    arguments=Stats,
    run=_run,
    rank=80,
    usage="[by sequence|step|variant|inbox|person] [7d|last week|FROM..TO]",
    summary="Show sends, replies, positive replies, meetings and rates, or times to claim by person",
    own_fields=frozenset({"id"}),
    examples=(
        "stats",
        "stats by step 7d",
        "stats yesterday",
        "stats by person last week",
        "stats by inbox 2026-01-01..2026-01-31",
    ),
)
