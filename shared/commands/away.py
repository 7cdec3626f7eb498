"""`away` and `back`: who gets turns in a rota."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Self

from shared.commands import times
from shared.commands.base import ArgumentError, Arguments, Command, Face, Words, clip, texts
from shared.domain.roles import Role
from shared.text.formats import short_duration
from shared.text.tokenize import parse_duration

if TYPE_CHECKING:
    from shared.commands.base import Question, Result
    from shared.commands.run import CommandContext


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Away(Arguments):
    """`away [for 2h|until monday]`."""

    verb = "away"
    duration: timedelta | None = None
    until: times.Moment | None = None
    """Where no duration is given."""

    @classmethod
    def read(cls, words: Words) -> Self:
        given = list(texts(words))
        if not given:
            return cls()
        rest = " ".join(given[1:])
        if words[0].is_one_of("for") and (length := parse_duration(rest.replace(" ", ""))):
            return cls(duration=length)
        if words[0].is_one_of("until", "till"):
            found = times.read_moment(given[1:])
            if found and found[1] == len(given) - 1:
                return cls(until=found[0])
            near = times.nearest_moment(rest.partition(" ")[0])
            hint = f"Did you mean until {near}?" if near else _AWAY
            raise ArgumentError(f"“{clip(rest)}” isn't a day or time.", hint=hint)
        raise ArgumentError(f"“{clip(' '.join(given))}” isn't an end.", hint=_AWAY)

    def write(self) -> Iterable[str]:
        if self.duration:
            return ("for", short_duration(self.duration))
        return ("until", *str(self.until).split()) if self.until else ()


_AWAY = "Use for 2h, until monday, until tomorrow 14:00, or nothing: until you type `back`."


class Back(Arguments):
    """`back`."""

    verb = "back"


async def _away(arguments: Away, context: CommandContext) -> Result | Question:
    from shared.commands.running import absences

    return await absences.away(arguments, context)


async def _back(arguments: Back, context: CommandContext) -> Result | Question:
    from shared.commands.running import absences

    return await absences.back(arguments, context)


FAMILY = (
    Command(
        arguments=Away,
        run=_away,
        rank=210,
        usage="[for 2h|until monday]",
        summary="Get no turns in a rota while you are away",
        changes=True,
        role=Role.OPERATOR,
        examples=("away until monday", "away for 2h", "away"),
        faces=frozenset({Face.SLACK}),  # elsewhere nobody knows who you are in Slack
        assistants=False,
    ),
    Command(
        arguments=Back,
        run=_back,
        rank=220,
        summary="Get turns in a rota again",
        changes=True,
        role=Role.OPERATOR,
        examples=("back",),
        faces=frozenset({Face.SLACK}),
        assistants=False,
    ),
)
