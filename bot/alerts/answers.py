"""Answers that the queue posts: kept as rendered, and rendered again without an Undo that has expired. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bot.blockkit import card_blocks
from bot.blockkit.actions import change_of, change_of_value
from bot.blockkit.card_blocks import Message
from bot.blockkit.elements import Block
from shared.domain.card import Card
from shared.store.queue.posts import Post


def write(message: Message) -> str:
    return json.dumps({"text": message.text, "blocks": message.blocks})


def read(post: Post) -> Message:
    """The message of `write`; an Undo goes when it was used or overtaken, and a line says by whom."""
    given = json.loads(post.note)
    message = Message(text=given["text"], blocks=given["blocks"])
    return ended(message, undone_by=post.undone_by, overtaken_by=post.overtaken_by)


def ended(message: Message, *, undone_by: str, overtaken_by: str) -> Message:
    """The message without an Undo that was used or overtaken; as it is while its Undo counts."""
    why = why_ended(undone_by=undone_by, overtaken_by=overtaken_by)
    return without_undo(message, why) if why else message


def why_ended(*, undone_by: str, overtaken_by: str) -> str:
    """Why an Undo counts no more; empty while it does."""
    if undone_by:
        return f"Undone by @{undone_by}"
    return f"Changed since by @{overtaken_by}" if overtaken_by else ""


def card_without_undo(card: Card, why: str, *, workspace: str) -> Card:
    left = tuple(button for button in card.buttons if not change_of(button.action))
    return replace(card, buttons=left, footer=" · ".join(filter(None, (why, workspace))))


def undo_of(message: Message) -> int:
    """The entry of the audit that the message's Undo button takes back; 0 where it has none."""
    elements = (one for block in message.blocks for one in block.get("elements", ()))
    return next(filter(None, map(_undo, elements)), 0)


def without_undo(message: Message, why: str) -> Message:
    blocks = [kept for block in message.blocks if (kept := _without_undo(block))]
    line = card_blocks.context(why)
    return Message(text=message.text, blocks=[*blocks, *([line] if line else [])])


def _without_undo(block: Block) -> Block | None:
    if block.get("type") != "actions":
        return block
    left: list[dict[str, Any]] = [one for one in block["elements"] if not _undo(one)]
    return {**block, "elements": left} if left else None


def _undo(element: Mapping[str, Any]) -> int:
    return change_of_value(str(element.get("value") or ""))
