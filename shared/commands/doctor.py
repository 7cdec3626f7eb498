"""`doctor`, which in a shell is a program of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.commands.base import Arguments, Command, Face
from shared.domain.roles import Role

if TYPE_CHECKING:
    from shared.commands.base import Question, Result
    from shared.commands.run import CommandContext


class Doctor(Arguments):
    """`doctor`."""

    verb = "doctor"


async def _run(arguments: Doctor, context: CommandContext) -> Result | Question:
    from shared.commands.running import help_cards

    return await help_cards.run_doctor(arguments, context)


COMMAND = Command(
    arguments=Doctor,
    run=_run,
    rank=250,
    summary="Check the connection to the service, Slack, the channels and the database",
    role=Role.ADMIN,
    examples=("doctor",),
    faces=frozenset({Face.SLACK}),  # in a shell it is its own program, which checks more
    assistants=False,
)
