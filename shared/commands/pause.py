"""`pause SEQUENCE [for 2h] [reason …]`: the words of its end, and the command."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Self

from shared.commands.base import (
    ArgumentError,
    Command,
    OnSequences,
    Words,
    need_target,
    texts,
)
from shared.commands.times import UNTIL, End, Moment, end_mistake, read_end
from shared.domain.roles import Role
from shared.text.tokenize import quote

if TYPE_CHECKING:
    from shared.commands.base import Question, Result
    from shared.commands.run import CommandContext


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Pause(OnSequences):
    """`pause SEQUENCE [for 2h] [reason …]`."""

    verb = "pause"
    duration: timedelta | None = None
    until: Moment | None = None
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
        yield from End(duration=self.duration, until=self.until).write()
        if self.reason:
            yield from ("reason", quote(self.reason))


_REASON = ("reason", "reason:")


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
        mistake.problem,
        hint=f"{mistake.hint} A reason comes after `reason`. If it is part of a name, put the name in quotes.",
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
