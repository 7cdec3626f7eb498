"""`domain DOMAIN`: how a domain stands, and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from shared.commands.base import ArgumentError, Arguments, Command, Words, none_left
from shared.text.tokenize import quote

if TYPE_CHECKING:
    from shared.commands.base import Question, Result
    from shared.commands.run import CommandContext


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Domain(Arguments):
    """`domain DOMAIN`."""

    verb = "domain"
    name: str = ""

    @classmethod
    def read(cls, words: Words) -> Self:
        if not words:
            raise ArgumentError(
                "Which domain?", hint="Name one of your sending domains: domain mail.acme.com"
            )
        none_left(words[1:])
        return cls(name=words[0].text.lower().rpartition("@")[2].rstrip("."))

    def write(self) -> Iterable[str]:
        return (quote(self.name),)


async def _run(arguments: Domain, context: CommandContext) -> Result | Question:
    from shared.commands.running import domain_page

    return await domain_page.domain(arguments, context)


COMMAND = Command(
    arguments=Domain,
    run=_run,
    rank=70,
    usage="DOMAIN",
    summary="Show the state of a domain and its causes: health, sends, bounces, DNS, last changes, advice",
    own_fields=frozenset({"at", "kind"}),
    examples=("domain mail.acme.com",),
)
