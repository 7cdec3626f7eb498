"""`domain DOMAIN`: one page about a sending domain that answers why it is as it is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Self

from shared.commands.base import ArgumentError, Arguments, Command, Result, Words, none_left
from shared.text.tokenize import quote

if TYPE_CHECKING:
    from shared.commands.run import CommandContext


class Domain(Arguments):
    """`domain DOMAIN`."""

    verb = "domain"
    name: str = ""

    @classmethod
    def read(cls, words: Words) -> Self:
        if not words:
            hint = "Name one of your sending domains: domain mail.acme.com"
            raise ArgumentError("Which domain?", hint=hint)
        none_left(words[1:])
        return cls(name=words[0].text.lower().rpartition("@")[2].rstrip("."))

    def write(self) -> Iterable[str]:
        return (quote(self.name),)


async def _run(arguments: Domain, context: CommandContext) -> Result:
    from shared.commands import domain_page  # late: every start of the program would wait for it

    return await domain_page.run(arguments.name, context)


COMMAND = Command(
    arguments=Domain,
    run=_run,
    rank=70,
    usage="DOMAIN",
    summary="Show the state of a domain and its causes: health, sends, bounces, DNS, last changes, advice",
    own_fields=("at", "kind"),
    examples=("domain mail.acme.com",),
)
