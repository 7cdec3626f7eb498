"""Slack as a test sees it: messages, modals, and the bot's responses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message as people see it; `raw` is Slack's message object."""

    ts: str
    channel: str
    """The channel's id."""
    user: str
    """The author's name."""
    text: str
    """The readable text, from the text or the blocks, with `[Buttons]`."""
    buttons: tuple[str, ...]
    thread_ts: str | None
    only_for: str | None
    """For an ephemeral message: the name of the person who sees it."""
    edited: bool
    raw: dict[str, Any] = field(repr=False)

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Message:
        return cls(
            ts=row["ts"],
            channel=row["channel"],
            user=row["user_name"],
            text=row["plain"],
            buttons=tuple(row["buttons"]),
            thread_ts=row.get("thread_ts"),
            only_for=row["seen_by_name"],
            edited=bool(row.get("edited")),
            raw=row,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Modal:
    """A modal that a person has open; `raw` is Slack's view object."""

    title: str
    callback_id: str
    raw: dict[str, Any] = field(repr=False)

    @classmethod
    def from_json(cls, view: dict[str, Any]) -> Modal:
        title = (view.get("title") or {}).get("text") or ""
        return cls(title=title, callback_id=view["callback_id"], raw=view)

    def values(self, given: dict[str, Any]) -> dict[str, Any]:
        """`given` by block id and action id; a name is an input's label, block id or action id."""
        by_block: dict[str, Any] = {}
        for block in self.raw["blocks"]:
            element = block.get("element") or {}
            names = {block.get("block_id"), element.get("action_id"), (block.get("label") or {}).get("text")}
            for name in names & set(given):
                by_block.setdefault(block["block_id"], {})[element["action_id"]] = given[name]
        return {**given, **by_block}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The bot's response to an action: whether it acknowledged in time, and after how many milliseconds."""

    ok: bool
    ms: float
    error: str | None
    errors: dict[str, str]
    """The errors below the inputs of a modal, by block id."""
    raw: dict[str, Any] = field(repr=False)

    @classmethod
    def from_json(cls, done: dict[str, Any]) -> Result:
        ack = done.get("ack") or {}
        return cls(
            ok=bool(ack.get("ok")) and not done.get("errors"),
            ms=float(ack.get("ms") or 0.0),
            error=done.get("error") or ack.get("error"),
            errors=dict(done.get("errors") or {}),
            raw=done,
        )
