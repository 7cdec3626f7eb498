"""`help`: five lines for what people come for; all commands behind a button; or one command. And `doctor`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from shared.commands.base import (
    ALIASES,
    COMMANDS,
    Arguments,
    Command,
    CommandContext,
    Result,
    Words,
    one_of,
    refused,
    texts,
)
from shared.domain.card import Button, Card, Fact, Row, Table, columns
from shared.domain.reply_states import HOW
from shared.domain.roles import Role

REPLY_ACTS = {how.words: how for how in HOW.values()}
EVERYTHING = "all"
"""The word for all commands, in the place of one."""
FIRST_LINES = (
    ("status", "what the account is doing, and what isn't fine"),
    ("replies", "interested replies that nobody has claimed"),
    ("pause NAME for 2h", "pause a sequence, which resumes automatically"),
    ("domain NAME", "why a sending domain is as it is"),
    ("subscribe interested here", "post interested replies to this channel"),
)
"""The lines that `help` leads with: what to type, and what it does."""


class Help(Arguments):
    """Show what to type first, all commands, or how to use one."""

    verb = "help"
    aliases = ("hi", "?")
    usage = "[COMMAND|all]"
    examples = ("help", "help all", "help pause")

    command: str | None = None

    @classmethod
    def read(cls, words: Words) -> Self:
        if (words_of_act := " ".join(texts(words)).lower()) in REPLY_ACTS:
            return cls(command=words_of_act)
        word = one_of(words, (*COMMANDS, *ALIASES, *REPLY_ACTS, EVERYTHING))
        return cls(command=ALIASES.get(word, word) if word else None)

    def write(self) -> Iterable[str]:
        return (self.command or "").split()

    async def run(self, context: CommandContext) -> Result:
        if self.command is None:
            return Result(first_help(context))
        if self.command == EVERYTHING:
            here = [command for command in COMMANDS.values() if _may(command, context)]
            table = Table(columns("Command", "Does"), [Row((one.synopsis, one.summary)) for one in here])
            footer = "`help COMMAND` shows details. @NAME selects a workspace."
            return Result(Card("Commands", table=table, footer=footer))
        if how := REPLY_ACTS.get(self.command):
            where = (
                "In Slack, with the lead's name, its company or address; in the thread of the reply, without."
            )
            example = Fact("Example", f"{how.words} ada {how.example}")
            return Result(Card(f"{how.named}: {how.does}", text=(where,), facts=(example,)))
        command = COMMANDS[self.command]
        has = "you have it" if context.allows(command.verb) else "you don't have it"
        runs = command.usage[:1] in {"", "["} and not command.changes  # nothing must follow it
        facts = [Fact("Example", line) for line in command.examples]
        facts += (Fact("Also", alias) for alias in command.aliases)
        facts.append(Fact("Role", f"{command.role} ({has})"))
        return Result(
            Card(
                command.synopsis,
                text=(f"{command.summary}.",),
                facts=facts,
                buttons=(Button(command.verb.capitalize(), command()),) if runs else (),
            )
        )


def first_help(context: CommandContext) -> Card:
    """The five lines, as far as the person may use them, and three buttons."""
    named = ((line, does, COMMANDS[line.split()[0]]) for line, does in FIRST_LINES)
    lines = (f"`{line}`: {does}" for line, does, command in named if _may(command, context))
    buttons = [Button(name.capitalize(), COMMANDS[name]()) for name in ("status", "replies")]
    everything = Button("All commands", Help(command=EVERYTHING))
    return Card("What you can do here", text=("\n".join(lines),), buttons=(*buttons, everything))


def _may(command: Command, context: CommandContext) -> bool:
    is_here = context.actor.face == "slack" or not command.slack_only
    return is_here and context.allows(command.verb) and command.is_offered(context)


class Doctor(Arguments):
    """Check the connection to the service, Slack, the channels and the database."""

    verb = "doctor"
    role = Role.ADMIN
    examples = ("doctor",)
    slack_only = True  # in a shell it is its own program, which checks more

    async def run(self, _: CommandContext) -> Result:
        return refused("`outreach doctor` in a shell checks everything", why="in a shell only")


class Whoami(Arguments):
    """Show your role and permissions."""

    verb = "whoami"
    examples = ("whoami",)
    own_fields = ("role", "workspace", "may")

    async def run(self, context: CommandContext) -> Result:
        actor = context.actor
        may = [one for one in COMMANDS.values() if context.allows(one.verb) and one.is_offered(context)]
        facts = {
            "Outreach workspace": context.workspace.name,
            "Where": f"{actor.face} {actor.channel}".strip(),
            "Can change": ", ".join(one.verb for one in may if one.changes) or "nothing",
            "Can view": ", ".join(one.verb for one in may if not one.changes),
        }
        card = Card(
            f"You are {actor.name} ({context.role})",
            facts=[Fact(label, value) for label, value in facts.items()],
            buttons=(Button("Help", Help()),),
        )
        row = {"name": actor.name, "role": str(context.role), "workspace": context.workspace.name}
        return Result(card, rows=({**row, "may": [one.verb for one in may]},))
