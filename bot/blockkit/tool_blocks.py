"""A Card as Slack's assistant shows it: the same blocks, with buttons that call tools. Pure.

A click reaches the bot as a call of the tool, which nothing tells from a call that the model made. So no such button
confirms anything: those that do are left out, and one for a change only proposes it.
Limits: https://docs.slack.dev/ai/slackbot-mcp-client/returning-rich-responses
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

from slack_sdk.models.blocks import ButtonElement

from bot.blockkit.actions import write_value
from bot.blockkit.card_blocks import MOST_BLOCKS, TOTAL, render, row_of, size
from bot.blockkit.elements import LABEL, VALUE, Block, cut, plain_object
from shared.commands.arguments import Arguments
from shared.domain.card import Button, Card, Fact
from shared.text.sanitize import visible

EXTENSION = "io.slack/block-kit"
"""What a client that shows blocks names among its capabilities."""
TOOL = "tool:"
"""Begins the `action_id` of an element that calls a tool; Slack strips any other."""
MOST_BUTTONS = 5


def tool_meta() -> dict[str, Any]:
    """What a tool's metadata say of its answers."""
    return {"slack": {"supportsBlockKit": True}}


def result_meta(card: Card, *, tools: Collection[str]) -> dict[str, Any]:
    """What stands beside an answer's text; its buttons call `tools`, which are those that the person is offered."""
    return {"slack": {"blocks": draw(card, tools=tools)}}


def draw(card: Card, *, tools: Collection[str]) -> list[Block]:
    """The card's blocks, and rows of its buttons: an `action_id` may stand only once in a row."""
    shown = replace(
        card, buttons=(), facts=tuple(map(_linked, card.facts)), details=tuple(map(_linked, card.details))
    )
    blocks = render(shown).blocks
    rows: list[dict[str, ButtonElement]] = []
    for button in list(_drawn(card, tools))[:MOST_BUTTONS]:
        row = next((one for one in rows if button.action_id not in one), None)
        if row is None:
            rows.append(row := {})
        row[str(button.action_id)] = button
    for row in rows:
        block = row_of(list(row.values()))
        if len(blocks) < MOST_BLOCKS and size([*blocks, block]) <= TOTAL:
            blocks.append(block)
    return blocks


def _linked(fact: Fact) -> Fact:
    """Slack shows no block at all where an address is not https."""
    return fact if fact.url.startswith("https://") else replace(fact, url="")


def _drawn(card: Card, tools: Collection[str]) -> Iterator[ButtonElement]:
    for number, button in enumerate(card.buttons):
        label = plain_object(cut(visible(button.label), LABEL) or "…")
        if button.url.startswith("https://"):
            yield ButtonElement(text=label, action_id=f"link_{number}", url=button.url)
        elif (value := _value(button, tools)) is not None:
            yield ButtonElement(text=label, action_id=f"{TOOL}{_verb(button)}", value=value)


def _verb(button: Button) -> str:
    return button.action.verb if isinstance(button.action, Arguments) else ""


def _value(button: Button, tools: Collection[str]) -> str | None:
    """The tool's arguments; None: the button is for people in messages of the bot only."""
    if _verb(button) not in tools or button.picks_time or button.picks_person or not button.action:
        return None
    try:
        _, given, *workspace = json.loads(write_value(button.action, workspace=button.workspace))
    except ValueError:
        return None
    given.pop("confirmed", None)
    value = json.dumps(given | ({"workspace": workspace[0]} if workspace else {}), ensure_ascii=False)
    return value if len(value) <= VALUE else None
