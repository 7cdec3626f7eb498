"""`report`: what a client is shown of a period."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from shared.commands import times
from shared.commands.base import ArgumentError, Arguments, Command, Face, Words, none_left
from shared.commands.periods import Period, period_length, read_period
from shared.text.tokenize import Word

if TYPE_CHECKING:
    from shared.commands.base import Question, Result
    from shared.commands.run import CommandContext


LONGEST_REPORT = 366
"""Days."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Report(Arguments):
    """`report [last week|last month|7d|FROM..TO]`."""

    verb = "report"
    period: Period = Period(name="last week")  # noqa: RUF009 # frozen

    @classmethod
    def read(cls, words: Words) -> Self:
        """A period, `last-month` too; last week where none is given."""
        split = tuple(Word(text=part, quoted=word.quoted) for word in words for part in _parts(word))
        if not split:
            return cls()
        none_left(split[period_length(split) :])
        found = read_period(split)
        days = (found.ends[1] - found.ends[0]).days + 1 if found.ends else found.days or 0
        if days > LONGEST_REPORT:
            raise ArgumentError(
                "A report covers at most a year.", hint=f"Give at most {LONGEST_REPORT} days."
            )
        return cls(period=found)

    def write(self) -> Iterable[str]:
        return self.period.write()


def _parts(word: Word) -> list[str]:
    named = word.text.lower().replace("-", " ")
    return named.split() if named in times.RANGES and not word.quoted else [word.text]


async def _run(arguments: Report, context: CommandContext) -> Result | Question:
    from shared.commands.running import report_page

    return await report_page.report(arguments, context)


COMMAND = Command(
    arguments=Report,
    run=_run,
    rank=190,
    usage="[last week|last month|7d|FROM..TO]",
    summary="Show a client report for a period: sends, replies, meetings, health, incidents",
    own_fields=frozenset({"workspace", "from", "to", "made_at", "at"}),
    examples=("report", "report last month", "report 2026-03-01..2026-03-31"),
    # In a shell it is its own program, which writes the page.
    faces=frozenset({Face.SLACK, Face.DASHBOARD}),
)
