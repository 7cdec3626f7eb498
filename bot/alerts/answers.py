"""Answers that the queue posts: kept as rendered, or as the Card of a change, which is drawn as it is now. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bot.blockkit.actions import change_of_value
from bot.blockkit.card_blocks import Message
from shared.domain.card import Card


def write(message: Message) -> str:
    return json.dumps({"text": message.text, "blocks": message.blocks})


def read(note: str) -> Message:
    given = json.loads(note)
    return Message(text=given["text"], blocks=given["blocks"])


def restated(note: str) -> Card | None:
    """What a message about a setting says once that was changed again; None: it says what it said."""
    given = json.loads(note)
    return Card(title=given["title"]) if "title" in given else None


def undo_of(message: Message) -> int:
    """The entry of the audit that the message's Undo button takes back; 0 where it has none."""
    elements = (
        one for block in message.blocks for one in (*block.get("elements", ()), block.get("accessory"))
    )
    return next(filter(None, map(_undo, elements)), 0)


def _undo(element: Mapping[str, Any] | None) -> int:
    return change_of_value(str(element.get("value") or "")) if element else 0
