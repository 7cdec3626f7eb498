"""`replies`: interested replies that nobody has claimed, my claims, or who replied in a period."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from shared.commands import times
from shared.commands.base import ArgumentError, Arguments, Command, Words, clip, none_left, unknown_word
from shared.commands.periods import Period, named_range, period_length, read_period

if TYPE_CHECKING:
    from shared.commands.base import Question, Result
    from shared.commands.run import CommandContext


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
        if words[0].quoted or (words[0].text[:1].isalpha() and not named_range(words)):
            raise unknown_word(words[0], ("mine", *times.RANGES))
        none_left(words[period_length(words) :])
        return cls(period=read_period(words))

    def write(self) -> Iterable[str]:
        if self.period:
            return self.period.write()
        return ("mine",) if self.mine else (str(self.page),) if self.page else ()


async def _run(arguments: Replies, context: CommandContext) -> Result | Question:
    from shared.commands.running import reply_lists

    return await reply_lists.replies(arguments, context)


COMMAND = Command(
    arguments=Replies,
    run=_run,
    rank=130,
    aliases=("open",),
    usage="[mine|today|7d|last week|FROM..TO|PAGE]",
    summary="List unclaimed interested replies, those that you have claimed, or who replied in a period",
    own_fields=frozenset({"alert_id", "received_at", "event"}),
    examples=("replies", "replies mine", "replies today", "replies 2"),
)
