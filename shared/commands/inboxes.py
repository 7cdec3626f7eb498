"""`inboxes` and `domains`: what sends, with its health."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from shared.commands.base import Arguments, Command, Words, none_left
from shared.text.tokenize import quote

if TYPE_CHECKING:
    from shared.commands.base import Question, Result
    from shared.commands.run import CommandContext


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Inboxes(Arguments):
    """`inboxes [DOMAIN|unhealthy]`."""

    verb = "inboxes"
    filter: str | None = None
    """A domain, an address, or `unhealthy`."""

    @classmethod
    def read(cls, words: Words) -> Self:
        none_left(words[1:])
        return cls(filter=words[0].text.lower() if words else None)

    def write(self) -> Iterable[str]:
        return (quote(self.filter),) if self.filter else ()


class Domains(Arguments):
    """`domains`."""

    verb = "domains"


async def _inboxes(arguments: Inboxes, context: CommandContext) -> Result | Question:
    from shared.commands.running import inbox_lists

    return await inbox_lists.list_inboxes(arguments, context)


async def _domains(arguments: Domains, context: CommandContext) -> Result | Question:
    from shared.commands.running import inbox_lists

    return await inbox_lists.list_domains(arguments, context)


FAMILY = (
    Command(
        arguments=Inboxes,
        run=_inboxes,
        rank=50,
        usage="[DOMAIN|unhealthy]",
        summary="List inboxes by domain, with health score, daily limit and status",
        own_fields=frozenset({"status"}),
        examples=("inboxes", "inboxes unhealthy", "inboxes acme.com"),
    ),
    Command(
        arguments=Domains,
        run=_domains,
        rank=60,
        aliases=("bounces",),
        summary="List the sending domains, worst first, with state, lowest health and bounces of 24 hours",
        own_fields=frozenset({"state"}),
        examples=("domains", "bounces"),
    ),
)
