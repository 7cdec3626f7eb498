"""`away` and `back`: who gets turns in a rota."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Self

from shared.commands.base import (
    ArgumentError,
    Arguments,
    ChangingCommand,
    Face,
    Result,
    Words,
    refused,
    texts,
)
from shared.commands.times import End, end_mistake, read_end
from shared.domain.card import Card, Tone

if TYPE_CHECKING:
    from shared.commands.run import CommandContext

LONGEST_ABSENCE = timedelta(days=366)


class Away(Arguments):
    """`away [for 2h|until monday]`."""

    verb = "away"
    end: End = End()  # frozen

    @classmethod
    def read(cls, words: Words) -> Self:
        if not words:
            return cls()
        if end := read_end(texts(words)):
            return cls(end=end)
        mistake = end_mistake(texts(words))
        raise ArgumentError(mistake.problem, hint=f"{mistake.hint} Or nothing: until you type `back`.")

    def write(self) -> Iterable[str]:
        return self.end.write()


class Back(Arguments):
    """`back`."""

    verb = "back"


async def _away(arguments: Away, context: CommandContext) -> Result:
    """Turns that the person has now pass on."""
    now, end = context.now(), arguments.end
    if not has_rota(context):
        why = "Nobody takes turns here. `[routes.rota]` in the settings names who does."
        return refused("There is no rota", why, why="no rota")
    until = end.after(now, zone=context.zone)
    if end.until and (until is None or until > now + LONGEST_ABSENCE):
        title = f"{end.until} isn't in the next twelve months"
        here = "You are still here. Nothing was changed."
        return refused(title, here, why=title, argument="until")
    await context.records.turns.leave(context.actor, until=until.timestamp() if until else None)
    shown = f"until {context.show(until)}" if until else "until they are back"
    text = ("Others in the rota get the turns. `back` ends it.",)
    card = Card(f"@{context.actor.name} is away {shown}", text=text)
    return Result(card, audit=f"away {shown}", until=until)


async def _back(_: Back, context: CommandContext) -> Result:
    """The person gets turns again."""
    if not await context.records.turns.come_back(context.actor.id):
        return Result(Card("You aren't away", text=("Nothing was changed.",)))
    return Result(Card(f"@{context.actor.name} is back", tone=Tone.GOOD), audit="back")


def has_rota(context: CommandContext) -> bool:
    """True where people take turns in a channel, as far as the settings are known."""
    return context.settings is None or bool(context.settings.routes.rotas)


FAMILY = (
    ChangingCommand(
        arguments=Away,
        run=_away,
        rank=210,
        usage="[for 2h|until monday]",
        summary="Get no turns in a rota while you are away",
        examples=("away until monday", "away for 2h", "away"),
        faces=frozenset({Face.SLACK}),  # elsewhere nobody knows who you are in Slack
        assistants=False,
        is_offered=has_rota,
    ),
    ChangingCommand(
        arguments=Back,
        run=_back,
        rank=220,
        summary="Get turns in a rota again",
        examples=("back",),
        faces=frozenset({Face.SLACK}),
        assistants=False,
        is_offered=has_rota,
    ),
)
