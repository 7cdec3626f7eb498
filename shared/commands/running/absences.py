"""`away` and `back`: whether a person gets turns in a rota."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from shared.commands.away import Away, Back
from shared.commands.base import Problem, Result
from shared.commands.run import CommandContext
from shared.domain.card import Card, Fact, Tone
from shared.records.audit import Absence
from shared.text.formats import show_time

LONGEST = timedelta(days=366)


async def away(arguments: Away, context: CommandContext) -> Result:
    """`away [for 2h|until monday]`: turns that the person has now pass on."""
    now = context.now()
    until = now + arguments.duration if arguments.duration else None
    if arguments.until:
        until = arguments.until.after(now, zone=context.zone)
        if until is None or until > now + LONGEST:
            problem = f"{arguments.until} isn't in the next twelve months"
            card = Card(title=problem, tone=Tone.WARN, text=("You are still here. Nothing was changed.",))
            return Result(card=card, problem=Problem(text=problem, argument="until"))
    await context.need_records().turns.leave(
        context.actor, until=None if until is None else until.timestamp()
    )
    end = show_end(until, context)
    return Result(
        card=Card(
            title=f"@{context.actor.name} is away {end}",
            text=("Others in the rota get the turns. `back` ends it.",),
        ),
        audit=f"away {end}",
        until=until,
    )


async def back(_: Back, context: CommandContext) -> Result:
    """`back`: the person gets turns again."""
    if not await context.need_records().turns.come_back(context.actor.id):
        return Result(card=Card(title="You aren't away", text=("Nothing was changed.",)))
    card = Card(title=f"@{context.actor.name} is back", tone=Tone.GOOD)
    return Result(card=card, audit="back")


def show_end(until: datetime | None, context: CommandContext) -> str:
    return (
        f"until {show_time(until, now=context.now(), zone=context.zone)}" if until else "until they are back"
    )


def away_facts(absences: Sequence[Absence], context: CommandContext) -> tuple[Fact, ...]:
    """Who said that they are away, for `status`."""
    named = (f"@{one.name} {show_end(one.until, context)}" for one in absences)
    return (Fact(label="Away", value=", ".join(named)),) if absences else ()
