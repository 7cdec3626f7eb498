"""`help` in Slack, with buttons for the forms."""

from __future__ import annotations

from dataclasses import replace

from bot.blockkit.actions import OpenForm
from bot.commands.answer import Answer
from bot.slack.permissions import Person
from shared.commands import COMMANDS
from shared.commands.base import ALIASES
from shared.commands.help import Help, first_help
from shared.commands.run import CommandContext
from shared.domain.card import Button, Card, Tone

FORMS = ("pause", "subscribe", "add")
"""The commands with a form."""


async def overview(_: Help, context: CommandContext, __: Person) -> Answer:
    """The card for `help` without a command: its third button opens the form of a pause."""
    card = first_help(context)
    *shown, everything = card.buttons
    if context.allows(COMMANDS["pause"]):
        shown.append(Button(label="Pause …", action=OpenForm(verb="pause")))
    return Answer(card=replace(card, buttons=(*shown, everything)))


def with_form(card: Card, line: str) -> Card:
    """The card with a form button, for a command without arguments."""
    verb, _, named = line.strip().lower().partition(" @")
    verb = ALIASES.get(verb, verb)
    if verb not in FORMS or " " in named:
        return card
    form = Button(label="Open form", action=OpenForm(verb=verb, workspace=named), tone=Tone.GOOD)
    return replace(card, buttons=(form, *card.buttons))
