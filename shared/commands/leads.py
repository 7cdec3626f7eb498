"""`leads`, `lead`, `add` and `remove`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from shared.api.words import LEAD_STATUSES, LeadStatus
from shared.commands.base import (
    EMAIL,
    ArgumentError,
    Arguments,
    Command,
    OnSequence,
    Words,
    clip,
    need_target,
    none_left,
    texts,
    write_target,
)
from shared.domain.roles import Role
from shared.text.tokenize import quote

if TYPE_CHECKING:
    from shared.commands.base import Question, Result
    from shared.commands.run import CommandContext


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Leads(OnSequence):
    """`leads [SEQUENCE] [STATUS]`."""

    verb = "leads"
    status: LeadStatus | None = None

    @classmethod
    def read(cls, words: Words) -> Self:
        status = next((one for one in LEAD_STATUSES if words and words[-1].is_one_of(one)), None)
        return cls(target=texts(words[:-1] if status else words), status=status)

    def write(self) -> Iterable[str]:
        return (*write_target(self.target), *filter(None, (self.status,)))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Lead(Arguments):
    """`lead EMAIL|NAME|ld_… [STATUS]`."""

    verb = "lead"
    who: str
    """An address, an id, or the words of a name."""
    status: str = ""
    """Where to look first; with an address or an id only."""

    @classmethod
    def read(cls, words: Words) -> Self:
        with_status = len(words) == 2 and words[1].text.lower() in LEAD_STATUSES
        if len(words) > 1 and "@" not in words[0].text and not with_status:
            return cls(who=" ".join(texts(words)))
        who, status = _who(words)
        return cls(who=who, status=status)

    def write(self) -> Iterable[str]:
        return (quote(self.who), *((self.status,) if self.status else ()))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Remove(Arguments):
    """`remove EMAIL|ld_… [STATUS]`."""

    verb = "remove"
    who: str
    status: str = ""
    """Where to look first."""

    @classmethod
    def read(cls, words: Words) -> Self:
        who, status = _who(words)
        return cls(who=who, status=status)

    def write(self) -> Iterable[str]:
        return (quote(self.who), *((self.status,) if self.status else ()))


def _who(words: Words) -> tuple[str, str]:
    """Who is meant, and with which status; the service has no search, but lists leads by status."""
    if not words or not words[0].text.strip():
        raise ArgumentError("Which lead?", hint="Enter an email address or an id (ld_…).")
    status = words[1].text.lower() if len(words) > 1 else ""
    if status not in LEAD_STATUSES:
        none_left(words[1:])
        return words[0].text, ""
    none_left(words[2:])
    return words[0].text, status


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Add(OnSequence):
    """`add EMAIL to SEQUENCE [field=value …]`."""

    verb = "add"
    email: str
    fields: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, words: Words) -> Self:
        if not words or not EMAIL.fullmatch(words[0].text):
            problem = (
                f"“{clip(words[0].text)}” isn't an email address."
                if words
                else "Which address, and which sequence?"
            )
            raise ArgumentError(problem, hint="For example: add ann@acme.com to “Q3 founders” first_name=Ann")
        rest = words[2:] if words[1:] and words[1].is_one_of("to") else words[1:]
        fields = {word.key: word.value for word in rest if word.key}
        if "email" in fields:
            raise ArgumentError("The address is already given.", hint="Remove email=…")
        target = need_target(tuple(word for word in rest if not word.key))
        return cls(email=words[0].text, target=target, fields=fields)

    def write(self) -> Iterable[str]:
        fields = (f"{key}={_quoted(value)}" for key, value in self.fields.items())
        return (quote(self.email), "to", *map(_quoted, self.target), *fields)


def _quoted(text: str) -> str:
    """Always quoted, so that a word with `=` isn't read as a field."""
    plain = quote(text)
    return plain if plain.startswith('"') else f'"{plain}"'


async def _leads(arguments: Leads, context: CommandContext) -> Result | Question:
    from shared.commands.running import lead_pages

    return await lead_pages.list_leads(arguments, context)


async def _lead(arguments: Lead, context: CommandContext) -> Result | Question:
    from shared.commands.running import lead_pages

    return await lead_pages.lead(arguments, context)


async def _add(arguments: Add, context: CommandContext) -> Result | Question:
    from shared.commands.running import lead_pages

    return await lead_pages.add(arguments, context)


async def _remove(arguments: Remove, context: CommandContext) -> Result | Question:
    from shared.commands.running import lead_pages

    return await lead_pages.remove(arguments, context)


FAMILY = (
    Command(
        arguments=Leads,
        run=_leads,
        rank=90,
        usage="[SEQUENCE] [STATUS]",
        summary="List the newest leads, filtered by sequence or status",
        own_fields=frozenset({"id", "status"}),
        newest_only=True,
        examples=("leads interested", "leads sq_1 replied"),
    ),
    Command(
        arguments=Lead,
        run=_lead,
        rank=100,
        usage="EMAIL|NAME|ld_… [STATUS]",
        summary="Show a lead and its last reply, by email, name or id",
        own_fields=frozenset({"id", "status"}),
        examples=("lead ann@acme.com", "lead Ada Lovelace", "lead ld_1"),
    ),
    Command(
        arguments=Add,
        run=_add,
        rank=110,
        usage="EMAIL to SEQUENCE [field=value …]",
        summary="Add a lead to a sequence",
        changes=True,
        role=Role.OPERATOR,
        examples=("add ann@acme.com to sq_1 first_name=Ann company=Acme",),
    ),
    Command(
        arguments=Remove,
        run=_remove,
        rank=120,
        usage="EMAIL|ld_… [STATUS]",
        summary="Remove a lead from all sequences, after confirmation",
        own_fields=frozenset({"id"}),
        changes=True,
        asks=True,
        role=Role.OPERATOR,
        examples=("remove ann@acme.com", "remove ld_1"),
    ),
)
