"""A message as lines of text that a person can read beside the picture of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def picture(text: str, blocks: Sequence[Mapping[str, Any]]) -> str:
    """The notification, then each block: `>` quotes, `|` is text to copy, `·` is small print, `[…]` a button, `⋯` a menu."""
    return "\n".join([f"notification: {text}", *(line for block in blocks for line in _lines(block))])


def _lines(block: Mapping[str, Any]) -> Iterator[str]:
    kind = block["type"]
    if kind == "header":
        yield f"# {block['text']['text']}"
    elif kind == "context":
        yield "· " + " · ".join(one["text"] for one in block["elements"])
    elif kind == "actions":
        yield " ".join(map(_element, block["elements"]))
    elif kind == "rich_text":
        for part in block["elements"]:
            start = {"rich_text_quote": "> ", "rich_text_preformatted": "| "}.get(part["type"], "")
            words = "".join(_leaf(leaf) for leaf in part["elements"])
            yield from (f"{start}{line}" for line in words.splitlines())
    elif kind == "section":
        yield " ".join(
            [block["text"]["text"], *([_element(block["accessory"])] if "accessory" in block else [])]
        )
    else:
        yield f"({kind})"


def _leaf(leaf: Mapping[str, Any]) -> str:
    words = str(leaf.get("text") or leaf.get("fallback") or leaf.get("user_id") or "")
    return f"**{words}**" if (leaf.get("style") or {}).get("bold") else words


def _element(element: Mapping[str, Any]) -> str:
    if element["type"] == "overflow":
        return "⋯ " + " | ".join(option["text"]["text"] for option in element["options"])
    label = element.get("text", element.get("placeholder", {"text": element["type"]}))["text"]
    mark = "*" if element.get("style") == "primary" else ""
    return f"[{mark}{label}{' ↗' if element.get('url') else ''}]"


_READ = {
    "plain_text": "{text}",
    "mrkdwn": "{text}",
    "text": "{text}",
    "raw_text": "{text}",
    "link": "{text}",
    "button": "[{text[text]}]",
    "user": "<@{user_id}>",
    "emoji": ":{name}:",
    "image": "{alt_text}",
    "date": "{fallback}",
}
"""The parts of a message that are read as a whole, and what is read of them."""
_NOT_READ = {"options", "option_groups", "placeholder", "confirm", "hint", "metadata"}
"""These parts show only when they are opened or hovered over."""


def notification(text: str, blocks: list[dict[str, Any]]) -> dict[str, str]:
    """Return what a notification of the message says: on a desktop from the blocks, on a phone only from `text`.

    https://docs.slack.dev/changelog/2026/07/13/notification-changes doesn't say how much of the blocks is read, and a
    notification has few lines: so it is the first block with something to read.
    """
    read = (" ".join(" ".join(_parts(block)).split()) for block in blocks if block.get("type") != "actions")
    return {"desktop": next(filter(None, read), text), "mobile": text}


def _parts(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for one in value:
            yield from _parts(one)
    elif isinstance(value, dict) and value.get("type") in _READ:
        # A link without a text shows its address.
        defaults = {"text": value.get("url"), "fallback": ""}
        yield _READ[value["type"]].format(**defaults | value)
    elif isinstance(value, dict):
        for name, one in value.items():
            if name not in _NOT_READ:
                yield from _parts(one)
