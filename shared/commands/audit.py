"""`audit`: who changed what, and `whoami`: the role and what it may do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from shared.commands.base import COMMANDS, Arguments, Command, Result
from shared.domain.card import Button, Card, Fact, Row, Table, columns
from shared.text.formats import show_number

if TYPE_CHECKING:
    from shared.commands.run import CommandContext
    from shared.records.audit import Actor

AUDIT_COLUMNS = columns("When", "Who", "Where", "Command", "Result")
AUDITED, AUDIT_CHANGES, AUDIT_REFUSALS, AUDIT_CALLS = 100, 20, 5, 3
"""Entries that are read, and how many changes, refused commands and assistants' calls of them are shown."""


class Audit(Arguments):
    """`audit`."""

    verb = "audit"


class Whoami(Arguments):
    """`whoami`."""

    verb = "whoami"


async def _audit(_: Audit, context: CommandContext) -> Result:
    """The newest changes first; what was refused changed nothing, and is shown apart."""
    records, name, limit = context.records, context.workspace.name, context.limit
    # Each by itself: many refused commands, which anybody can type, would hide the changes.
    read = [
        *(await records.audit(name, limit or AUDITED, only="refused"))[: limit or AUDIT_REFUSALS],
        *await records.audit(name, limit or AUDIT_CALLS, only="calls"),
        *(await records.audit(name, limit or AUDITED, only="changes"))[: limit or AUDIT_CHANGES],
    ]
    # Some are written late, such as the result of a request whose answer was lost.
    entries = sorted(read, key=lambda one: one.at, reverse=True)
    rows, facts = [], []
    for one in entries:
        when, who = context.show(one.at), one.actor.shown
        if one.effect == "refused":
            why = one.result.removeprefix("refused: ")
            told = f"{when}, {who}: {one.command}{f' ({why})' if why else ''}"
            facts.append(Fact("Refused", told))
        elif one.effect == "read":
            told = f"{when}, for {who}: {one.command} ({one.result})"
            facts.append(Fact("Assistant", told))
        else:
            rows.append(Row((when, who, where(one.actor), one.command, one.result)))
    title = "Last change" if rows else "No changes yet"
    if len(rows) > 1:
        title = f"Last {show_number(len(rows), 'change')}"
    table = Table(AUDIT_COLUMNS, tuple(rows)) if rows else None
    return Result(
        Card(title, facts=tuple(facts), table=table),
        rows=tuple(
            {
                "at": entry.at.isoformat(),
                "who": entry.actor.name,
                "where": where(replace(entry.actor, via="")),
                "via": entry.actor.via or None,
                "workspace": entry.workspace,
                "command": entry.command,
                "result": entry.result,
                "refused": entry.effect == "refused",
            }
            for entry in entries
        ),
    )


def where(actor: Actor) -> str:
    place = f"{actor.face} {actor.channel}".strip()
    return f"{place}, via {actor.via}" if actor.via else place


async def _whoami(_: Whoami, context: CommandContext) -> Result:
    may = [
        command for command in COMMANDS.values() if context.allows(command) and command.is_offered(context)
    ]
    changing = ", ".join(one.name for one in may if one.changes)
    facts = {
        "Outreach workspace": context.workspace.name,
        "Where": where(context.actor),
        "Can change": changing or "nothing",
        "Can view": ", ".join(one.name for one in may if not one.changes),
    }
    return Result(
        Card(
            f"You are {context.actor.name} ({context.role})",
            facts=tuple(Fact(label, value) for label, value in facts.items()),
            buttons=(Button("Help", COMMANDS["help"].arguments()),),
        ),
        rows=(
            {
                "name": context.actor.name,
                "role": str(context.role),
                "workspace": context.workspace.name,
                "may": [one.name for one in may],
            },
        ),
    )


FAMILY = (
    Command(
        arguments=Audit,
        run=_audit,
        rank=230,
        aliases=("log",),
        summary="List recent changes: who, what, when and where",
        own_fields=("at", "workspace", "via"),
        newest_only=True,
        examples=("audit",),
    ),
    Command(
        arguments=Whoami,
        run=_whoami,
        rank=240,
        summary="Show your role and permissions",
        examples=("whoami",),
        own_fields=("role", "workspace", "may"),
    ),
)
