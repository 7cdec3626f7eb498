"""`help` in Slack: the commands that this person can run here, by purpose, with buttons."""

from __future__ import annotations

from dataclasses import replace

from bot.blockkit.actions import OpenForm
from bot.commands.answer import Answer
from bot.slack.permissions import Person
from shared.commands import COMMANDS, Command, Face
from shared.commands.arguments import Inboxes, Open, Sequences, Status
from shared.commands.periods import Stats
from shared.domain.card import Button, Card, Tone
from shared.operations.context import CommandContext

_GROUPS = (
    ("View", ("status", "open", "sequences", "inboxes", "stats", "report", "leads", "lead")),
    ("Change", ("pause", "resume", "guard", "add", "remove")),
    ("Notifications", ("subscribe", "unsubscribe", "subscriptions", "digest")),
)
_GROUPED = {name for _, names in _GROUPS for name in names}
_RUNNABLE = (Open(), Sequences(), Inboxes(), Stats())


FORMS = ("pause", "subscribe", "add", "guard")
"""The commands with a form."""


async def overview(context: CommandContext, person: Person) -> Answer:
    """The card for `help` without a command."""
    here = [one for one in COMMANDS.values() if Face.SLACK in one.faces]
    refused = [one.name for one in here if not context.allows(one)]
    groups = (*_GROUPS, ("Account", tuple(one.name for one in here if one.name not in _GROUPED)))
    forms = tuple(
        Button(label=f"{verb.capitalize()} …", action=OpenForm(verb=verb))
        for verb in FORMS
        if context.allows(COMMANDS[verb])
    )
    return Answer(
        card=Card(
            title=f"What you can do here, @{person.name}",
            text=tuple(filter(None, (_group(title, names, context) for title, names in groups))),
            buttons=(
                Button(label="Status", action=Status(), tone=Tone.GOOD),
                *(Button(label=one.verb.capitalize(), action=one) for one in _RUNNABLE),
                *forms,
            ),
            footer=_footer(refused),
        )
    )


def _group(title: str, names: tuple[str, ...], context: CommandContext) -> str:
    allowed = [COMMANDS[name] for name in names if context.allows(COMMANDS[name])]
    return "\n".join((f"▸ {title}", *map(_line, allowed))) if allowed else ""


def _line(command: Command) -> str:
    return f"`{command.name}`  {command.summary}"


def _footer(refused: list[str]) -> str:
    more = (
        "`claim NAME`, `assign NAME @ann`, `done NAME` and `release NAME` work from anywhere. In a card's thread, @outreach help "
        "lists what can be done with it. `help pause` shows details."
    )
    return f"You don't have permission here for: {', '.join(refused)}. {more}" if refused else more


def with_form(card: Card, line: str) -> Card:
    """The card with a form button, for a command without arguments."""
    verb, _, named = line.strip().lower().removesuffix(" add").partition(" @")
    if verb not in FORMS or " " in named:
        return card
    form = Button(label="Open form", action=OpenForm(verb=verb, workspace=named), tone=Tone.GOOD)
    return replace(card, buttons=(form, *card.buttons))
