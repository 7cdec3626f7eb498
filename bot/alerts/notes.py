"""A Card of the bot's own, as the store keeps it until it is posted and for as long as its message is edited. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import PlainValidator, TypeAdapter
from pydantic_core import to_json

from bot.blockkit.actions import Perform, read_value, write_value
from shared.commands import Invocation, UsageError
from shared.domain.card import Action, Button, Card, Typed


def _read_action(stored: dict[str, Any] | None) -> Action | None:
    """What a button does; one whose line no longer means anything still shows it."""
    if stored is None:
        return None
    try:
        action = read_value(stored["line"])
    except UsageError:
        return Typed(stored["line"])
    if isinstance(action, Perform):
        return action.act
    return action.arguments if isinstance(action, Invocation) else action


@dataclass(frozen=True, slots=True, kw_only=True)
class _Button(Button):
    action: Annotated[Action | None, PlainValidator(_read_action)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Card(Card):
    buttons: tuple[_Button, ...] = ()


_CARD = TypeAdapter(_Card)


def write_note(card: Card) -> str:
    """The card as JSON, its buttons' actions as their values."""
    buttons = (
        replace(one, action=Typed(write_value(one.action)) if one.action else None) for one in card.buttons
    )
    return to_json(replace(card, buttons=tuple(buttons))).decode()


def read_note(note: str) -> Card:
    """The Card of `write_note`."""
    return _CARD.validate_json(note)
