"""The blocks, the surfaces they are allowed on, and the limits of surfaces."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any, Literal

from sandbox.slack.blockkit.data_blocks import (
    CELL,
    CHART_BLOCK,
    COLUMN,
    DATA_TABLE,
    DATA_TABLE_OPTIONS,
    message_problems,
)
from sandbox.slack.blockkit.elements import (
    IN_ACTIONS,
    IN_CONTEXT,
    IN_INPUT,
    IN_SECTION,
    plain,
    text,
    url,
)
from sandbox.slack.blockkit.rich_text import ELEMENTS as RICH_ELEMENTS
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


_RICH_TEXT = _block({"elements": RICH_ELEMENTS})

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
    "table": _block({"rows": array(array(CELL, 20), 100)}, column_settings=array(COLUMN, 20, 0)),
    "data_table": _block(DATA_TABLE, **DATA_TABLE_OPTIONS),
    "data_visualization": _block(CHART_BLOCK),
    "markdown": _block({"text": string(12_000, 1)}),
    "file": _block({"external_id": string(255), "source": string(16)}),
}
"""The blocks that stand in messages only."""
_ON_MESSAGES, _ON_VIEWS = by_type(BLOCKS | MESSAGE_BLOCKS), by_type(BLOCKS)


def problems(
    blocks: Any, *, surface: Surface = "message", at: str = "/blocks", refused: Collection[str] = ()
) -> list[str]:
    """Everything that Slack would refuse in `blocks` on `surface`, each with its JSON pointer.

    `refused`: types of blocks that this workspace does not know, as those of a feature that is still rolled out.
    """
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
    if surface == "message":
        found += message_problems(blocks, at)
    found += [
        problem(f"unsupported type: {block['type']}", f"{at}/{index}/type")
        for index, block in enumerate(blocks)
        if any(_is(block, kind) for kind in refused)
    ]
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
