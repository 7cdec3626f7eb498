"""`resume SEQUENCE`, and all that this program paused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from shared.commands.base import Command, OnSequences, Words, need_target
from shared.domain.roles import Role

if TYPE_CHECKING:
    from shared.commands.base import Question, Result
    from shared.commands.run import CommandContext


class Resume(OnSequences):
    """`resume SEQUENCE`."""

    verb = "resume"

    @classmethod
    def read(cls, words: Words) -> Self:
        return cls(target=need_target(words))


async def _run(arguments: Resume, context: CommandContext) -> Result | Question:
    from shared.commands.running import pausing

    return await pausing.plan(arguments, context)


COMMAND = Command(
    arguments=Resume,
    run=_run,
    rank=40,
    aliases=("unpause",),
    usage="SEQUENCE",
    summary="Resume a paused sequence",
    own_fields=frozenset({"id", "status"}),
    changes=True,
    asks=True,
    role=Role.OPERATOR,
    examples=("resume sq_1", 'resume "Q3 founders"', "resume all"),
)
