"""Checks on the content of messages, shared by the Web API and the response addresses."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypedDict

from sandbox.slack.blockkit.blocks import MAX_CHARACTERS, problems, total_size
from sandbox.slack.state.errors import SlackError, refuse_if
from sandbox.slack.state.model import Json

MAX_TEXT = 40_000
MAX_METADATA = 8_000
MAX_ATTACHMENTS = 100


class Content(TypedDict):
    """The checked content of a message, as `World.post` takes it."""

    text: str
    blocks: list[Json]
    attachments: list[Json]
    metadata: Json | None


def content(args: dict[str, Any], *, check: Callable[[Any], list[str]] = problems) -> Content:
    """Read text, blocks, attachments and metadata; `check` finds what is wrong with blocks.

    Raises `SlackError` as Slack would.
    """
    text = args.get("text")
    if text is not None and not isinstance(text, str):
        raise SlackError("invalid_arguments", messages=["text must be a string [json-pointer:/text]"])
    blocks = checked_blocks(args.get("blocks"), check=check) or _markdown(args)
    attachments = checked_attachments(args.get("attachments"))
    refuse_if(not text and not blocks and not attachments, "no_text")
    return Content(
        # Slack truncates beyond 40,000 characters instead of refusing.
        text=(text or "")[:MAX_TEXT],
        blocks=blocks,
        attachments=attachments,
        metadata=checked_metadata(args.get("metadata")),
    )


def _markdown(args: dict[str, Any]) -> list[Json]:
    """`markdown_text` stands for one markdown block, and for nothing beside it."""
    source = args.get("markdown_text")
    if not source:
        return []
    refuse_if(args.get("text"), "markdown_text_conflict")
    return checked_blocks([{"type": "markdown", "text": source}])


def checked_blocks(blocks: Any, *, check: Callable[[Any], list[str]] = problems) -> list[Json]:
    """The blocks of a message; raises `SlackError` (invalid_blocks_format, invalid_blocks, msg_blocks_too_long)."""
    if blocks is None or blocks == "":
        return []
    if not isinstance(blocks, list):
        raise SlackError("invalid_blocks_format")
    errors = check(blocks)
    if errors:
        raise SlackError("invalid_blocks", messages=errors, extra={"errors": errors})
    refuse_if(total_size(blocks) > MAX_CHARACTERS, "msg_blocks_too_long")
    return blocks


def checked_attachments(attachments: Any) -> list[Json]:
    """The attachments of a message; raises `SlackError` (invalid_attachments, too_many_attachments)."""
    if not attachments:
        return []
    if not isinstance(attachments, list) or not all(isinstance(one, dict) for one in attachments):
        raise SlackError("invalid_attachments")
    if len(attachments) > MAX_ATTACHMENTS:
        raise SlackError("too_many_attachments")
    return [
        {**one, **({"blocks": checked_blocks(one["blocks"])} if "blocks" in one else {})}
        for one in attachments
    ]


def checked_metadata(metadata: Any) -> Json | None:
    """The metadata of a message; raises `SlackError` (invalid_metadata_format, metadata_too_large)."""
    if metadata is None or metadata == "":
        return None
    if not isinstance(metadata, dict):
        raise SlackError("invalid_metadata_format")
    kind, payload = metadata.get("event_type"), metadata.get("event_payload")
    if not isinstance(kind, str) or not kind or not isinstance(payload, dict):
        raise SlackError("invalid_metadata_format")
    if len(json.dumps(payload, ensure_ascii=False).encode()) > MAX_METADATA:
        raise SlackError("metadata_too_large")
    return {"event_type": kind, "event_payload": payload}
