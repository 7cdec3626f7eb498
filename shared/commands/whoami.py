"""`whoami`: the role, and what it may do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.commands.base import Arguments, Command

if TYPE_CHECKING:
    from shared.commands.base import Question, Result
    from shared.commands.run import CommandContext


class Whoami(Arguments):
    """`whoami`."""

    verb = "whoami"


async def _run(arguments: Whoami, context: CommandContext) -> Result | Question:
    from shared.commands.running import reply_lists

    return await reply_lists.whoami(arguments, context)


COMMAND = Command(
    arguments=Whoami,
    run=_run,
    rank=240,
    summary="Show your role and permissions",
    examples=("whoami",),
    own_fields=frozenset({"role", "workspace", "may"}),
)
