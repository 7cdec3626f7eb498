"""A message as lines of text that a person can read beside the picture of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def picture(text: str, blocks: Sequence[Mapping[str, Any]]) -> str:
    """The notification, then each block: `>` quotes, `·` is small print, `[…]` a button, `⋯` a menu."""
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
            start = "> " if part["type"] == "rich_text_quote" else ""
            words = "".join(_leaf(leaf) for leaf in part["elements"])
            yield from (f"{start}{line}" for line in words.splitlines())
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
