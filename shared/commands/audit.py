"""`audit`: who changed what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.commands.base import Arguments, Command

if TYPE_CHECKING:
    from shared.commands.base import Question, Result
    from shared.commands.run import CommandContext


class Audit(Arguments):
    """`audit`."""

    verb = "audit"


async def _run(arguments: Audit, context: CommandContext) -> Result | Question:
    from shared.commands.running import reply_lists

    return await reply_lists.audit(arguments, context)


COMMAND = Command(
    arguments=Audit,
    run=_run,
    rank=230,
    aliases=("log",),
    summary="List recent changes: who, what, when and where",
    own_fields=frozenset({"at", "workspace", "via"}),
    newest_only=True,
    examples=("audit",),
)
