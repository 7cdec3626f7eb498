"""The blocks, where each may stand, and how much of everything a surface takes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

from sandbox.slack.blockkit.elements import (
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

MAX_BLOCKS: dict[Surface, int] = {"message": 50, "modal": 100, "home": 100}
MAX_CHARACTERS = 13_200
"""All blocks of a message together; beyond it Slack says msg_blocks_too_long (slackapi/bolt-js#2509)."""


def _block(required: dict[str, Rule], /, **optional: Rule) -> Rule:
    return shape(required, block_id=string(255), **optional)


_RICH_PARTS = array(anything, 1000, 0)
_RICH_TEXT = _block(
    {
        "elements": array(
            by_type(
                {
                    "rich_text_section": shape({"elements": _RICH_PARTS}),
                    "rich_text_list": shape(
                        {"elements": array(anything, 1000), "style": anything},
                        indent=number(0, 8),
                        offset=number(0, 1000),
                        border=anything,
                    ),
                    "rich_text_preformatted": shape(
                        {"elements": _RICH_PARTS}, border=anything, language=anything
                    ),
                    "rich_text_quote": shape({"elements": _RICH_PARTS}, border=anything),
                }
            ),
            1000,
        )
    }
)
_CELL = by_type(
    {
        "raw_text": shape({"text": string(3000, 1)}),
        "raw_number": shape({"value": number(-1e15, 1e15)}, text=string(3000)),
        "rich_text": _RICH_TEXT,
    }
)

BLOCKS: dict[str, Rule] = {
    "section": at_least_one(
        _block({}, text=text(3000), fields=array(text(2000), 10), accessory=IN_SECTION, expand=boolean),
        "text",
        "fields",
    ),
    "header": _block({"text": plain(150)}, level=number(1, 4)),
    "divider": _block({}),
    "context": _block({"elements": array(IN_CONTEXT, 10)}),
    "actions": _block({"elements": array(IN_ACTIONS, 25)}),
    "image": exactly_one(
        _block({"alt_text": string(2000)}, image_url=url, slack_file=anything, title=plain(2000)),
        "image_url",
        "slack_file",
    ),
    "input": _block(
        {"label": plain(2000), "element": IN_INPUT},
        hint=plain(2000),
        optional=boolean,
        dispatch_action=boolean,
    ),
    "rich_text": _RICH_TEXT,
    "video": _block(
        {"alt_text": string(2000), "title": plain(200), "video_url": url, "thumbnail_url": url},
        author_name=string(50),
        description=plain(200),
        provider_icon_url=url,
        provider_name=string(50),
        title_url=url,
    ),
}
MESSAGE_BLOCKS: dict[str, Rule] = {
    "table": _block(
        {"rows": array(array(_CELL, 20), 100)},
        column_settings=array(anything, 20, 0),
    ),
    "markdown": _block({"text": string(12_000, 1)}),
    "file": _block({"external_id": string(255), "source": string(16)}),
}
"""The blocks that stand in messages only."""
_ON_MESSAGES, _ON_VIEWS = by_type(BLOCKS | MESSAGE_BLOCKS), by_type(BLOCKS)


def problems(blocks: Any, *, surface: Surface = "message", at: str = "/blocks") -> list[str]:
    """Everything that Slack would refuse in `blocks` on `surface`, each with its JSON pointer."""
    allowed = _ON_MESSAGES if surface == "message" else _ON_VIEWS
    found = list(array(allowed, MAX_BLOCKS[surface], 0)(blocks, at))
    if not isinstance(blocks, list):
        return found
    found += [
        problem(f"duplicate block_id: {blocks[index]['block_id']}", f"{at}/{index}/block_id")
        for index in _repeated(blocks, "block_id")
    ]
    for index, block in enumerate(blocks):
        if _is(block, "actions") and isinstance(block.get("elements"), list):
            elements = block["elements"]
            names = sorted({elements[place]["action_id"] for place in _repeated(elements, "action_id")})
            found += [problem(f"action_id is not unique: {n}", f"{at}/{index}/elements") for n in names]
    if surface == "message" and sum(_is(block, "table") for block in blocks) > 1:
        found.append(problem("only_one_table_allowed", at))
    return found


def _repeated(items: list[Any], name: str) -> Iterator[int]:
    """The places of the items whose `name` an earlier one has, too."""
    seen: set[str] = set()
    for index, item in enumerate(items):
        value = item.get(name) if isinstance(item, dict) else None
        if isinstance(value, str):
            if value in seen:
                yield index
            seen.add(value)


def _is(block: Any, kind: str) -> bool:
    return isinstance(block, dict) and block.get("type") == kind


def total_size(blocks: Any) -> int:
    return len(json.dumps(blocks, separators=(",", ":"), ensure_ascii=False))
