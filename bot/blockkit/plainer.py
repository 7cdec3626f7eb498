"""Simpler forms of a message or view, for when Slack rejects it. Pure.

Slack rejects a whole message for one block: a type that isn't rolled out to the workspace yet, an undocumented limit,
a view that is too large. Its errors name the cause in different ways, so every rejection gets the next simpler form: its
words as text.
Errors: docs.slack.dev/reference/methods/chat.postMessage, chat.update and views.open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bot.blockkit.actions import line_of
from bot.blockkit.card_blocks import Block, cut, escape, plain

Body = dict[str, Any]

TEXT_TOO_LONG = "msg_too_long"
BLOCKS_REFUSED = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", TEXT_TOO_LONG})
VIEW_REFUSED = frozenset({"invalid_arguments", "invalid_view", "view_too_large"}) | BLOCKS_REFUSED
TEXT, LEAST_TEXT, SECTION = 3_900, 1_000, 2_900
"""Characters of a text (over 4,000 are too long for chat.update), at first and at last; of a section."""


def plainer(body: Mapping[str, Any], code: str) -> Body | None:
    """The next plainer form of a call's body after this refusal; None: there is none, or it would not help."""
    if "view" in body and code in VIEW_REFUSED:
        view = plain_view(body["view"])
        return None if view == body["view"] else {**body, "view": view}
    if code not in BLOCKS_REFUSED:
        return None
    blocks, text = body.get("blocks") or [], str(body.get("text") or "")
    if blocks and code != TEXT_TOO_LONG:
        # Without an empty list chat.update would keep the blocks that are there.
        return {**body, "blocks": [], "text": text_of(blocks) or text}
    return {**body, "text": cut(text, LEAST_TEXT)} if len(text) > LEAST_TEXT else None


def text_of(blocks: Sequence[Block]) -> str:
    """Everything that blocks say, as text for `text`, which Slack parses; buttons as what to type instead."""
    return cut("\n".join(filter(None, (_words(block).strip() for block in blocks))), TEXT)


def _words(part: Block) -> str:
    """The words of a block, an element or a text object."""
    match part:
        case {"type": "date"}:
            fallback = escape(part["fallback"]).replace("|", "/")
            words = f"<!date^{part['timestamp']}^{part['format']}|{fallback}>"
        case {"type": "mrkdwn", "text": str(text)}:
            words = text
        case {"text": str(text)}:
            words = escape(text)
        case {"type": "header", "text": title}:
            words = f"*{_words(title)}*"
        case {"rows": rows}:
            words = "\n".join(" · ".join(map(_words, row)) for row in rows)
        case {"text": {"text": str(label)}, "url": str(url)}:
            words = f"{escape(label)}: {escape(url)}"
        case {"text": {"text": str(label)}, "value": str(value)}:
            words = f"{escape(label)}: `/outreach {escape(line_of(value))}`"
        case _:
            words = _words_within(part)
    return words


def _words_within(part: Block) -> str:
    """The words of what a block holds: docs.slack.dev/reference/block-kit/blocks names the places."""
    inner = [part.get(name) for name in ("text", "label", "accessory")]
    inner += [one for name in ("fields", "elements", "options") for one in part.get(name, ())]
    kind = part.get("type", "")
    between = "" if kind.startswith("rich_text_") else " " if kind == "context" else "\n"
    words = between.join(filter(None, (_words(one) for one in inner if one)))
    return "> " + words.replace("\n", "\n> ") if kind == "rich_text_quote" else words


def plain_view(view: Mapping[str, Any]) -> Body:
    """A modal or Home with nothing in it but text."""
    if all(block.get("type") == "section" for block in view["blocks"]) and not view.get("submit"):
        return dict(view)
    words = text_of(view["blocks"])
    parts = [words[at : at + SECTION] for at in range(0, len(words), SECTION)]
    sections = [
        {"type": "section", "text": {"type": "mrkdwn", "text": part}} for part in parts if part.strip()
    ]
    kept = {name: view[name] for name in ("type", "callback_id", "private_metadata") if name in view}
    title = {"title": plain("Outreach"), "close": plain("Close")} if view["type"] == "modal" else {}
    return {**kept, **title, "blocks": sections or [{"type": "divider"}]}
