"""What a person reads in a message or a view: the texts of its blocks, a line for each, with `[Buttons]`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_TEXTS = {"plain_text", "mrkdwn", "text", "markdown", "raw_text"}
_NOT_READ = {"options", "option_groups", "placeholder", "confirm", "hint", "metadata"}
"""Parts that show only when opened or hovered over."""
_CLICKABLE = {"button", "workflow_button"}


def plain_text(
    text: str, blocks: list[dict[str, Any]], attachments: list[dict[str, Any]] | None = None
) -> str:
    """The text of the blocks where there are any, else `text`; and that of attachments."""
    shown = [line for block in blocks if (line := " ".join(_parts(block)))] or ([text] if text else [])
    for one in attachments or []:
        texts = [str(one[name]) for name in ("pretext", "title", "text") if one.get(name)]
        inner = [line for block in one.get("blocks") or [] if (line := " ".join(_parts(block)))]
        shown += inner or texts or [str(one.get("fallback") or "")]
    return "\n".join(shown)


def notification(text: str, blocks: list[dict[str, Any]]) -> dict[str, str]:
    """What a notification of the message says: on a desktop from the blocks, on a phone only from `text`.

    https://docs.slack.dev/changelog/2026/07/13/notification-changes doesn't say how much of the blocks is read, and a
    notification has few lines: so it is the first block with something to read.
    """
    read = (" ".join(" ".join(_parts(block)).split()) for block in blocks if block.get("type") != "actions")
    return {"desktop": next(filter(None, read), text), "mobile": text}


def buttons(blocks: list[dict[str, Any]]) -> list[str]:
    return [str(one["text"]["text"]) for one in _nodes(blocks) if one.get("type") in _CLICKABLE]


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        for one in value:
            yield from _nodes(one)
    elif isinstance(value, dict):
        yield value
        for name, one in value.items():
            if name not in _NOT_READ:
                yield from _nodes(one)


def _parts(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for one in value:
            yield from _parts(one)
    elif isinstance(value, dict):
        read = _leaf(value)
        if read is not None:
            yield read
            return
        for name, one in value.items():
            if name not in _NOT_READ:
                yield from _parts(one)


def _leaf(node: dict[str, Any]) -> str | None:
    """The text at the end of a branch; None for a node with branches."""
    kind, text = node.get("type"), node.get("text")
    if kind in _CLICKABLE:
        return f"[{text['text'] if isinstance(text, dict) else ''}]"
    if kind in _TEXTS and isinstance(text, str):
        return text
    others = {
        "link": text or node.get("url"),
        "user": f"<@{node.get('user_id')}>",
        "emoji": f":{node.get('name')}:",
        "image": node.get("alt_text"),
        "date": node.get("fallback"),
    }
    return str(others[kind] or "") if kind in others else None
