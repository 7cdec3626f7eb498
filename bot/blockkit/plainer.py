"""Simpler forms of a message or view, for when Slack rejects it. Pure.

Slack rejects a whole message for one block: a type that isn't rolled out to the workspace yet, an undocumented limit,
metadata of another schema. Its errors name the cause in different ways, so every rejection gets the next simpler form:
without the blocks of 2026, then as text only; without metadata, then with its key as a `block_id`.
Errors: docs.slack.dev/reference/methods/chat.postMessage, chat.update and views.open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bot.blockkit.actions import line_of
from bot.blockkit.elements import RUN, Block, cut, plain, text_element
from shared.text.formats import show_count, sparkline

Body = dict[str, Any]

TEXT_TOO_LONG = "msg_too_long"
BLOCKS_REFUSED = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", TEXT_TOO_LONG})
VIEW_REFUSED = frozenset({"invalid_arguments", "invalid_view", "view_too_large"}) | BLOCKS_REFUSED
METADATA_REFUSED = frozenset(
    {
        "invalid_metadata_format",
        "invalid_metadata_schema",
        "metadata_must_be_sent_from_app",
        "metadata_too_large",
    }
)
KEY = "key:"
"""Begins the `block_id` that stands in for metadata."""
DRAWN = "▰▱\u00a0 "
"""What cells are drawn with that say nothing as text."""
TEXT, LEAST_TEXT, SECTION, SECTIONS = 3_900, 1_000, 2_900, 10
"""Characters of a text (over 4,000 are too long for chat.update), at first and at last; of a section; sections."""


def plainer(body: Mapping[str, Any], code: str) -> Body | None:
    """The next plainer form of a call's body after this refusal; None: there is none, or it would not help."""
    if code in METADATA_REFUSED and body.get("metadata"):
        return _without_metadata(body)
    if "view" in body and code in VIEW_REFUSED:
        simple = plain_view(body["view"])
        return None if simple == body["view"] else {**body, "view": simple}
    return _plainer_message(body, code) if code in BLOCKS_REFUSED else None


def _plainer_message(body: Mapping[str, Any], code: str) -> Body | None:
    blocks, text = body.get("blocks") or [], str(body.get("text") or "")
    older = older_blocks(blocks)
    if older != blocks and code != TEXT_TOO_LONG:
        return {**body, "blocks": older}
    if blocks and code != TEXT_TOO_LONG:
        # Without an empty list chat.update would keep the blocks that are there.
        return {**body, "blocks": [], "text": text_of(blocks) or text}
    return {**body, "text": cut(text, LEAST_TEXT)} if len(text) > LEAST_TEXT else None


def _without_metadata(body: Mapping[str, Any]) -> Body:
    bare = {name: value for name, value in body.items() if name != "metadata"}
    key = (body["metadata"].get("event_payload") or {}).get("key")
    if key and bare.get("blocks"):
        first, *rest = bare["blocks"]
        bare["blocks"] = [first | {"block_id": f"{KEY}{key}"}, *rest]
    return bare


def key_of(message: Mapping[str, Any]) -> str:
    blocks = message.get("blocks")
    known = [block for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
    ids = (str(block.get("block_id") or "") for block in known)
    return next((name.removeprefix(KEY) for name in ids if name.startswith(KEY)), "")


def older_blocks(blocks: Sequence[Block]) -> list[Block]:
    """The blocks with tables and charts as Slack knew them before 2026; bars beside a table only repeat it."""
    return [_older(block) for block in _without_repeats(blocks)]


def _without_repeats(blocks: Sequence[Block]) -> list[Block]:
    tables = any(block.get("type") in {"table", "data_table"} for block in blocks)
    return [
        block
        for block in blocks
        if not (tables and block.get("type") == "data_visualization" and block["chart"]["type"] == "bar")
    ]


def _older(block: Block) -> Block:
    kept = {"block_id": block["block_id"]} if "block_id" in block else {}
    match block.get("type"):
        case "data_table":
            rows = [[{"type": "raw_text", "text": cell["text"]} for cell in row] for row in block["rows"]]
            right = [
                {"align": "right" if any(row[n]["type"] == "raw_number" for row in block["rows"]) else "left"}
                for n in range(len(rows[0]))
            ]
            return {"type": "table", "rows": rows, "column_settings": right, **kept}
        case "data_visualization":
            words = [text_element(block["title"], bold=True), text_element("\n" + "\n".join(_points(block)))]
            return {
                "type": "rich_text",
                "elements": [{"type": "rich_text_section", "elements": words}],
                **kept,
            }
    return block


def _points(block: Block) -> Iterator[str]:
    chart = block["chart"]
    if chart["type"] == "line":
        for series in chart["series"]:
            values = [point["value"] for point in series["data"]]
            course = f"{sparkline(values)}  {show_count(min(values))}–{show_count(max(values))}"
            yield f"{series['name']}, {len(values)} days  {course}"
        return
    for place, label in enumerate(chart["axis_config"]["categories"]):
        figures = (f"{series['name']} {series['data'][place]['value']:g}" for series in chart["series"])
        yield f"{label}  {', '.join(figures)}"


def text_of(blocks: Sequence[Block]) -> str:
    """Everything that blocks say, as text for `text`, which Slack parses; buttons as what to type instead."""
    lines = (_lines(block) for block in _without_repeats(blocks))
    return cut("\n".join(filter(None, ("\n".join(filter(None, part)).strip() for part in lines))), TEXT)


def _lines(block: Block) -> Iterator[str]:
    match block.get("type"):
        case "rich_text":
            yield from (_rich(part) for part in block["elements"])
        case "table" | "data_table":
            yield from (" · ".join(filter(None, map(_cell, row))) for row in block["rows"])
        case "data_visualization":
            yield from (_escaped(line) for line in (block["title"], *_points(block)))
        case "actions":
            yield from (line for element in block["elements"] for line in _element(element))
        case "section":
            yield from (_text(part) for part in (block.get("text"), *block.get("fields", ())) if part)
            yield from _element(block.get("accessory") or {})
        case "context":
            yield " ".join(_text(part) for part in block["elements"])
        case "header":
            yield f"*{_text(block['text'])}*"
        case "input":
            yield _text(block["label"])


def _text(part: Mapping[str, Any]) -> str:
    words = str(part.get("text") or "")
    return words if part.get("type") == "mrkdwn" else _escaped(words)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _rich(part: Mapping[str, Any]) -> str:
    words = "".join(_leaf(leaf) for leaf in part["elements"])
    return "> " + words.replace("\n", "\n> ") if part["type"] == "rich_text_quote" else words


def _leaf(leaf: Mapping[str, Any]) -> str:
    if leaf["type"] == "date":
        fallback = _escaped(leaf["fallback"]).replace("|", "/")
        return f"<!date^{leaf['timestamp']}^{leaf['format']}|{fallback}>"
    return _escaped(str(leaf.get("text") or ""))


def _cell(cell: Mapping[str, Any]) -> str:
    if cell["type"] == "rich_text":
        return " ".join(_rich(part) for part in cell["elements"])
    text = str(cell["text"])
    return _escaped(text) if text.strip(DRAWN) else ""


def _element(element: Mapping[str, Any]) -> Iterator[str]:
    """What to type instead of a button, or where it leads."""
    for one in element.get("options", (element,)):
        if not isinstance(one.get("text"), Mapping):
            continue
        if one.get("url"):
            yield f"{_text(one['text'])}: {_escaped(one['url'])}"
        elif one.get("value") and str(element.get("action_id", "")).startswith(RUN):
            yield f"{_text(one['text'])}: `/outreach {_escaped(line_of(one['value']))}`"


def plain_view(view: Mapping[str, Any]) -> Body:
    """A modal or Home with nothing in it but text; a form that cannot be shown says what to type."""
    blocks = view.get("blocks") or []
    words = text_of(blocks)
    if any(block.get("type") == "input" for block in blocks):
        words = f"Slack can't show this form. Type `/outreach help` to see the command instead.\n{words}"
    if all(block.get("type") == "section" for block in blocks) and not view.get("submit"):
        return dict(view)
    sections = [words[at : at + SECTION] for at in range(0, len(words), SECTION)][:SECTIONS]
    shown = [
        {"type": "section", "text": {"type": "mrkdwn", "text": part}} for part in sections if part.strip()
    ]
    kept = {name: view[name] for name in ("type", "callback_id", "private_metadata") if name in view}
    title = {"title": plain("Outreach"), "close": plain("Close")} if view["type"] == "modal" else {}
    return {**kept, **title, "blocks": shown or [{"type": "divider"}]}
