"""`status`: everything that matters, on one page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.commands.base import Arguments, Command

if TYPE_CHECKING:
    from shared.commands.base import Question, Result
    from shared.commands.run import CommandContext


class Status(Arguments):
    """`status`."""

    verb = "status"


async def _run(arguments: Status, context: CommandContext) -> Result | Question:
    from shared.commands.running import overview

    return await overview.status(arguments, context)


COMMAND = Command(
    arguments=Status,
    run=_run,
    rank=10,
    summary="Show an overview on one page",
    own_fields=frozenset({"workspace", "last_delivery_at", "tone"}),
    examples=("status",),
)
