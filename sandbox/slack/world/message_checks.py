"""Checks on what an app wants to say, shared by the Web API and the response addresses."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sandbox.slack.blockkit.blocks import MOST_CHARACTERS, problems, total_size
from sandbox.slack.state.errors import Refusal
from sandbox.slack.state.model import Json

MOST_TEXT = 40_000
MOST_METADATA = 8_000
MOST_ATTACHMENTS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a message says, found to be acceptable."""

    text: str
    blocks: list[Json]
    attachments: list[Json]
    metadata: Json | None


def content(args: dict[str, Any]) -> Content:
    """Read text, blocks, attachments and metadata; raises `Refusal` as Slack would."""
    text = args.get("text")
    if text is not None and not isinstance(text, str):
        raise Refusal("invalid_arguments", messages=["text must be a string [json-pointer:/text]"])
    blocks = checked_blocks(args.get("blocks")) or _markdown(args)
    attachments = _attachments(args.get("attachments"))
    if not text and not blocks and not attachments:
        raise Refusal("no_text")
    return Content(
        # Slack truncates beyond 40,000 characters instead of refusing.
        text=(text or "")[:MOST_TEXT],
        blocks=blocks,
        attachments=attachments,
        metadata=checked_metadata(args.get("metadata")),
    )


def _markdown(args: dict[str, Any]) -> list[Json]:
    """`markdown_text` stands for one markdown block, and for nothing beside it."""
    source = args.get("markdown_text")
    if not source:
        return []
    if args.get("text"):
        raise Refusal("markdown_text_conflict")
    return checked_blocks([{"type": "markdown", "text": source}])


def checked_blocks(blocks: Any) -> list[Json]:
    """The blocks of a message; raises `Refusal` (invalid_blocks_format, invalid_blocks, msg_blocks_too_long)."""
    if blocks is None or blocks == "":
        return []
    if not isinstance(blocks, list):
        raise Refusal("invalid_blocks_format")
    found = problems(blocks)
    if found:
        raise Refusal("invalid_blocks", messages=found, extra={"errors": found})
    if total_size(blocks) > MOST_CHARACTERS:
        raise Refusal("msg_blocks_too_long")
    return blocks


def _attachments(attachments: Any) -> list[Json]:
    if not attachments:
        return []
    if not isinstance(attachments, list) or not all(isinstance(one, dict) for one in attachments):
        raise Refusal("invalid_attachments")
    if len(attachments) > MOST_ATTACHMENTS:
        raise Refusal("too_many_attachments")
    return [
        {**one, **({"blocks": checked_blocks(one["blocks"])} if "blocks" in one else {})}
        for one in attachments
    ]


def checked_metadata(metadata: Any) -> Json | None:
    """The metadata of a message; raises `Refusal` (invalid_metadata_format, metadata_too_large)."""
    if metadata is None or metadata == "":
        return None
    if not isinstance(metadata, dict):
        raise Refusal("invalid_metadata_format")
    kind, payload = metadata.get("event_type"), metadata.get("event_payload")
    if not isinstance(kind, str) or not kind or not isinstance(payload, dict):
        raise Refusal("invalid_metadata_format")
    if len(json.dumps(payload, ensure_ascii=False).encode()) > MOST_METADATA:
        raise Refusal("metadata_too_large")
    return {"event_type": kind, "event_payload": payload}
