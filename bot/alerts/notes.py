"""Texts of posts as the store keeps them: a Card of the bot's own, or an answer as it was drawn. Pure."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Annotated, Any

from pydantic import PlainValidator, TypeAdapter
from pydantic_core import to_json

from bot.blockkit.actions import Perform, read_value, write_value
from bot.blockkit.card_blocks import Message
from shared.commands import Invocation, UsageError
from shared.domain.card import Action, Button, Card, Typed
from shared.frozen import frozen


def _read_action(stored: dict[str, Any] | None) -> Action | None:
    """The action of a button; one whose line no longer means anything still shows it."""
    if stored is None:
        return None
    try:
        action = read_value(stored["line"])
    except UsageError:
        return Typed(stored["line"])
    if isinstance(action, Perform):
        return action.act
    return action.arguments if isinstance(action, Invocation) else action


@frozen
class _Button(Button):
    action: Annotated[Action | None, PlainValidator(_read_action)] = None


@frozen
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


def write_answer(message: Message) -> str:
    return json.dumps({"text": message.text, "blocks": message.blocks})


def read_answer(note: str) -> Message:
    stored = json.loads(note)
    return Message(text=stored["text"], blocks=stored["blocks"])


def restated(note: str) -> Card | None:
    """The Card of a message about a setting that was changed again; None: it stays as it was."""
    title = json.loads(note).get("title")
    return Card(title=title) if title else None
