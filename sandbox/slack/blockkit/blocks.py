"""The blocks, where each may stand, and how much of everything a surface takes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

from sandbox.slack.blockkit.elements import (
    IMAGE,
    IN_ACTIONS,
    IN_CONTEXT,
    IN_INPUT,
    IN_SECTION,
    plain,
    text,
    url,
)
from sandbox.slack.blockkit.rules import (
    Rule,
    anything,
    array,
    at_least_one,
    boolean,
    by_type,
    exactly_one,
    number,
    problem,
    shape,
    string,
)

Surface = Literal["message", "modal", "home"]

MOST_BLOCKS: dict[Surface, int] = {"message": 50, "modal": 100, "home": 100}
MOST_CHARACTERS = 13_200
"""All blocks of a message together; beyond it Slack says msg_blocks_too_long (slackapi/bolt-js#2509)."""

_id = {"block_id": string(most=255)}
_rich = by_type(
    {
        "rich_text_section": shape({"elements": array(anything, most=1000, least=0)}),
        "rich_text_list": shape(
            {"elements": array(anything, most=1000), "style": anything},
            {"indent": number(least=0, most=8), "offset": number(least=0, most=1000), "border": anything},
        ),
        "rich_text_preformatted": shape(
            {"elements": array(anything, most=1000, least=0)}, {"border": anything, "language": anything}
        ),
        "rich_text_quote": shape({"elements": array(anything, most=1000, least=0)}, {"border": anything}),
    }
)
_rich_text = shape({"elements": array(_rich, most=1000)}, _id)
_cell = by_type(
    {
        "raw_text": shape({"text": string(most=3000, least=1)}),
        "raw_number": shape({"value": number(least=-1e15, most=1e15)}, {"text": string(most=3000)}),
        "rich_text": _rich_text,
    }
)

BLOCKS: dict[str, Rule] = {
    "section": at_least_one(
        shape(
            {},
            {
                **_id,
                "text": text(3000),
                "fields": array(text(2000), most=10),
                "accessory": IN_SECTION,
                "expand": boolean,
            },
        ),
        "text",
        "fields",
    ),
    "header": shape({"text": plain(150)}, {**_id, "level": number(least=1, most=4)}),
    "divider": shape({}, _id),
    "context": shape({"elements": array(IN_CONTEXT, most=10)}, _id),
    "actions": shape({"elements": array(IN_ACTIONS, most=25)}, _id),
    "image": exactly_one(
        shape(
            {"alt_text": string(most=2000)},
            {**_id, "image_url": url, "slack_file": anything, "title": plain(2000)},
        ),
        "image_url",
        "slack_file",
    ),
    "input": shape(
        {"label": plain(2000), "element": IN_INPUT},
        {**_id, "hint": plain(2000), "optional": boolean, "dispatch_action": boolean},
    ),
    "rich_text": _rich_text,
    "table": shape(
        {"rows": array(array(_cell, most=20), most=100)},
        {**_id, "column_settings": array(anything, most=20, least=0)},
    ),
    "markdown": shape({"text": string(most=12_000, least=1)}, _id),
    "video": shape(
        {
            "alt_text": string(most=2000),
            "title": plain(200),
            "video_url": url,
            "thumbnail_url": url,
        },
        {
            **_id,
            "author_name": string(most=50),
            "description": plain(200),
            "provider_icon_url": url,
            "provider_name": string(most=50),
            "title_url": url,
        },
    ),
    "file": shape({"external_id": string(most=255), "source": string(most=16)}, _id),
}

_ONLY_IN_MESSAGES = {"table", "markdown", "file"}


def _allowed(surface: Surface) -> Rule:
    return by_type({n: r for n, r in BLOCKS.items() if surface == "message" or n not in _ONLY_IN_MESSAGES})


def _repeated(blocks: list[Any], at: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, block in enumerate(blocks):
        name = block.get("block_id") if isinstance(block, dict) else None
        if isinstance(name, str) and name in seen:
            yield problem(f"duplicate block_id: {name}", f"{at}/{index}/block_id")
        elif isinstance(name, str):
            seen.add(name)


def _doubled_actions(blocks: list[Any], at: str) -> Iterator[str]:
    for index, block in enumerate(blocks):
        elements = (
            block.get("elements") if isinstance(block, dict) and block.get("type") == "actions" else None
        )
        names = (
            [e.get("action_id") for e in elements if isinstance(e, dict)]
            if isinstance(elements, list)
            else []
        )
        for name in sorted({n for n in names if isinstance(n, str) and names.count(n) > 1}):
            yield problem(f"action_id is not unique: {name}", f"{at}/{index}/elements")


def problems(blocks: Any, *, surface: Surface = "message", at: str = "/blocks") -> list[str]:
    """Everything that Slack would refuse in `blocks` on `surface`, each with its JSON pointer."""
    found = list(array(_allowed(surface), most=MOST_BLOCKS[surface], least=0)(blocks, at))
    if isinstance(blocks, list):
        found += [*_repeated(blocks, at), *_doubled_actions(blocks, at)]
        if surface == "message" and sum(_is(block, "table") for block in blocks) > 1:
            found.append(problem("only_one_table_allowed", at))
    return found


def _is(block: Any, kind: str) -> bool:
    return isinstance(block, dict) and block.get("type") == kind


def total_size(blocks: Any) -> int:
    return len(json.dumps(blocks, separators=(",", ":"), ensure_ascii=False))


__all__ = ["BLOCKS", "IMAGE", "MOST_BLOCKS", "MOST_CHARACTERS", "Surface", "problems", "total_size"]
