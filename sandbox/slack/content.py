"""Checks the content of a message as Slack does, for the Web API and for response addresses."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypedDict

from sandbox.slack.blockkit import MAX_CHARACTERS, total_size
from sandbox.slack.errors import SlackError, refuse_if
from sandbox.slack.model import Json

MAX_TEXT = 40_000
MAX_METADATA_BYTES = 8_000
MAX_ATTACHMENTS = 100

Check = Callable[..., list[str]]
"""Finds what is wrong with blocks in this workspace."""


class Content(TypedDict):
    """The checked content of a message, as `Workspace.post` takes it."""

    text: str
    blocks: list[Json]
    attachments: list[Json]
    metadata: Json | None


def checked_content(args: Json, check: Check) -> Content:
    """Read text, blocks, attachments and metadata. Raises `SlackError` where Slack refuses them."""
    text = args.get("text")
    if text is not None and not isinstance(text, str):
        raise SlackError("invalid_arguments", messages=["text must be a string [json-pointer:/text]"])
    blocks = checked_blocks(args.get("blocks"), check)
    attachments = checked_attachments(args.get("attachments"), check)
    refuse_if(not text and not blocks and not attachments, "no_text")
    return Content(
        # Slack truncates a longer text instead of refusing it.
        text=(text or "")[:MAX_TEXT],
        blocks=blocks,
        attachments=attachments,
        metadata=checked_metadata(args.get("metadata")),
    )


def checked_blocks(blocks: Any, check: Check) -> list[Json]:
    """Return the blocks. Raises `SlackError` (invalid_blocks_format, invalid_blocks, msg_blocks_too_long)."""
    if blocks is None or blocks == "":
        return []
    if not isinstance(blocks, list):
        raise SlackError("invalid_blocks_format")
    if errors := check(blocks):
        raise SlackError("invalid_blocks", messages=errors, extra={"errors": errors})
    refuse_if(total_size(blocks) > MAX_CHARACTERS, "msg_blocks_too_long")
    return blocks


def checked_attachments(attachments: Any, check: Check) -> list[Json]:
    """Return the attachments. Raises `SlackError` (invalid_attachments, too_many_attachments)."""
    if not attachments:
        return []
    if not isinstance(attachments, list) or not all(isinstance(one, dict) for one in attachments):
        raise SlackError("invalid_attachments")
    refuse_if(len(attachments) > MAX_ATTACHMENTS, "too_many_attachments")
    checked = []
    for one in attachments:
        inner = {"blocks": checked_blocks(one["blocks"], check)} if "blocks" in one else {}
        checked.append({**one, **inner})
    return checked


def checked_metadata(metadata: Any) -> Json | None:
    """Return the metadata. Raises `SlackError` (invalid_metadata_format, metadata_too_large)."""
    if metadata is None or metadata == "":
        return None
    if not isinstance(metadata, dict):
        raise SlackError("invalid_metadata_format")
    kind, payload = metadata.get("event_type"), metadata.get("event_payload")
    if not isinstance(kind, str) or not kind or not isinstance(payload, dict):
        raise SlackError("invalid_metadata_format")
    size = len(json.dumps(payload, ensure_ascii=False).encode())
    refuse_if(size > MAX_METADATA_BYTES, "metadata_too_large")
    return {"event_type": kind, "event_payload": payload}
