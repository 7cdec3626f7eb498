"""`share stats 7d`: posts a person's answer to the channel."""

from __future__ import annotations

from dataclasses import replace

from bot.blockkit.actions import Share
from bot.slack import permissions
from bot.slack.permissions import Person
from shared.commands import Invocation, Role
from shared.commands.arguments import Status
from shared.commands.channels import Digest
from shared.commands.periods import Stats
from shared.domain.card import Button, Card, Tone
from shared.text.slack_ids import bare

REFUSAL = Card(
    title="This answer can't be shared",
    tone=Tone.WARN,
    text=("You can share: digest, stats, status.",),
)


def can_be_shared(invocation: Invocation) -> bool:
    arguments = invocation.arguments
    if isinstance(arguments, Digest):
        return arguments.action in {"now", "today"}
    return isinstance(arguments, Stats | Status)


def may_share(person: Person) -> bool:
    """Everyone in the channel will see it, so guests and people from outside can't share."""
    return person.is_member or permissions.role_of(person) is not Role.READER


def with_button(card: Card, invocation: Invocation, person: Person, *, channel: str) -> Card:
    """The card with a Share button, if there is a channel to share it with."""
    conversation = not channel or bare(channel).startswith("D")
    if conversation or not (can_be_shared(invocation) and may_share(person)):
        return card
    button = Button(label="Share to channel", action=Share(invocation=invocation))
    return replace(card, buttons=(*card.buttons, button))


def for_channel(card: Card, person: Person) -> Card:
    """The shared card: signed, and without a Share button."""
    kept = tuple(button for button in card.buttons if not isinstance(button.action, Share))
    footer = " · ".join(filter(None, (card.footer, f"Shared by @{person.name}")))
    return replace(card, buttons=kept, footer=footer)
