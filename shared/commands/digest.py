"""`digest`: a summary of the day, now or each morning."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

from shared.commands import times
from shared.commands.base import ArgumentError, Command, Words, clip, did_you_mean, none_left
from shared.commands.channels import HERE, InChannel, read_channel, write_channel
from shared.domain.roles import Role
from shared.domain.wall_clock import Recurrence, parse_recurrence

if TYPE_CHECKING:
    from shared.commands.base import Question, Result
    from shared.commands.run import CommandContext


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Digest(InChannel):
    """`digest now|today|[weekdays|mon,thu] at 09:00 [ZONE]|off [here|#channel]`."""

    verb = "digest"
    action: Literal["show", "now", "today", "off", "at"] = "show"
    at: str | None = None
    """Of `at`: the recurrence, as `09:00 Europe/Berlin`."""

    @classmethod
    def read(cls, words: Words) -> Self:
        channel = HERE
        if words and (found := read_channel(words[-1])) is not None:
            channel, words = found, words[:-1]
        if not words:
            return cls(channel=channel)
        if len(words) == 2 and {word.text.lower() for word in words} == {"today", "now"}:
            words = (next(word for word in words if word.is_one_of("today")),)
        for action in ("now", "today", "off"):
            if words[0].is_one_of(action):
                none_left(words[1:])
                return cls(action=action, channel=channel)
        return cls(action="at", at=str(_recurrence(words)), channel=channel)

    def write(self) -> Iterable[str]:
        action = () if self.action in {"show", "at"} else (self.action,)
        at = ("at", *self.at.split()) if self.at else ()
        return (*action, *at, *write_channel(self.channel))


def _recurrence(words: Words) -> Recurrence:
    typed = [word.text for word in words]
    if typed[-1].lower() in {"am", "pm"}:
        typed[-2:] = ["".join(typed[-2:])]
    hint = "Use now, today (the day so far), at 09:00, weekdays at 09:00, mon,thu at 09:00 Europe/Berlin, or off."
    if typed == ["at"]:
        raise ArgumentError("At what time?", hint=hint)
    found = parse_recurrence(typed)
    if isinstance(found, str):
        kind = "time of day" if found[:1].isdigit() else "weekday or time zone"
        near = did_you_mean(found, ("now", "today", "off", "at", "weekdays", *times.DAYS))
        hint = f"{near} {hint}" if near.startswith("Did") else hint
        raise ArgumentError(f"“{clip(found)}” isn't a {kind}.", hint=hint)
    return found


async def _run(arguments: Digest, context: CommandContext) -> Result | Question:
    from shared.commands.running import subscriptions

    return await subscriptions.digest(arguments, context)


COMMAND = Command(
    arguments=Digest,
    run=_run,
    rank=170,
    usage="now|today|[weekdays|mon,thu] at 09:00 [ZONE]|off [here|#channel]",
    summary="Show a summary of yesterday or of today so far, schedule it for the days you choose, or turn it off",
    changes=True,
    role=Role.OPERATOR,
    examples=(
        "digest now",
        "digest today",
        "digest at 09:00 Europe/Berlin",
        "digest weekdays at 08:30",
        "digest mon,thu at 08:30",
        "digest off",
    ),
)
