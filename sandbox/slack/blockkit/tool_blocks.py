"""What Slack's assistant refuses in the blocks of a tool's answer; one fault, and it shows none of them.

https://docs.slack.dev/ai/slackbot-mcp-client/returning-rich-responses
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from sandbox.slack.blockkit.blocks import problems
from sandbox.slack.blockkit.rules import problem

SHOWN = frozenset(
    {
        *(
            "actions",
            "card",
            "carousel",
            "container",
            "context",
            "data_table",
            "data_visualization",
            "divider",
        ),
        *("file", "header", "image", "input", "markdown", "rich_text", "section", "table", "video"),
    }
)
TOOL, INPUT = "tool:", "input:"
MOST_CHARTS, MOST_IN_TABLES = 2, 20_000
MOST_IN_TABLE = {"table": 10_000, "data_table": 20_000}
_ADDRESSES = ("url", "image_url")


def tool_problems(blocks: Any, at: str = "/blocks") -> list[str]:
    """Everything for which Slack would drop the blocks, each with its JSON pointer."""
    found = problems(blocks, at=at)
    if not isinstance(blocks, list):
        return found
    objects = [(number, block) for number, block in enumerate(blocks) if isinstance(block, dict)]
    kinds = [block.get("type") for _, block in objects]
    if kinds.count("data_visualization") > MOST_CHARTS:
        found.append(problem("no more than 2 data_visualization blocks", at))
    sizes = [
        (number, block["type"], _length(block))
        for number, block in objects
        if block.get("type") in MOST_IN_TABLE
    ]
    found += [
        problem("table is too long", f"{at}/{n}") for n, kind, size in sizes if size > MOST_IN_TABLE[kind]
    ]
    if sum(size for _, _, size in sizes) > MOST_IN_TABLES:
        found.append(problem("tables are too long", at))
    for number, block in objects:
        if block.get("type") not in SHOWN:
            found.append(problem(f"unsupported type: {block.get('type')}", f"{at}/{number}/type"))
        found += _addresses(block, f"{at}/{number}")
    return found


def tool_call(element: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """The tool and the arguments that a click on an element calls it with; None: the click does nothing."""
    action, value = element.get("action_id"), element.get("value")
    if not isinstance(action, str) or not action.startswith(TOOL) or value is None:
        return None
    try:
        arguments = json.loads(value)
    except (TypeError, ValueError):
        arguments = None
    return action.removeprefix(TOOL), arguments if isinstance(arguments, dict) else {}


def _addresses(value: Any, at: str) -> Iterator[str]:
    if isinstance(value, list):
        for number, one in enumerate(value):
            yield from _addresses(one, f"{at}/{number}")
    elif isinstance(value, dict):
        for name, one in value.items():
            if name in _ADDRESSES and (not isinstance(one, str) or urlsplit(one).scheme != "https"):
                yield problem("must be an https address", f"{at}/{name}")
            yield from _addresses(one, f"{at}/{name}")


def _length(value: Any) -> int:
    """The characters of the texts in a table."""
    if isinstance(value, list):
        return sum(map(_length, value))
    if isinstance(value, dict):
        return sum(
            len(one) if name == "text" and isinstance(one, str) else _length(one)
            for name, one in value.items()
        )
    return 0
