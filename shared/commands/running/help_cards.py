"""`help` and `doctor`, as far as every face has them."""

from __future__ import annotations

from shared.commands import help_card
from shared.commands.base import Problem, Result
from shared.commands.doctor import Doctor
from shared.commands.help import EVERYTHING, Help
from shared.commands.run import CommandContext
from shared.domain.card import Card


async def run_help(arguments: Help, context: CommandContext) -> Result:
    name = None if arguments.command == EVERYTHING else arguments.command
    return Result(card=help_card(name, allowed=context.allows, face=context.actor.face))


async def run_doctor(_: Doctor, __: CommandContext) -> Result:
    card = Card(title="`outreach doctor` in a shell checks everything")
    return Result(card=card, problem=Problem(text="in a shell only"))
