"""The card that somebody clicked: it says that their click is under way, and afterwards how things stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bot.blockkit import card_blocks
from bot.blockkit.card_blocks import Message
from bot.store import Store
from shared.domain.records import RecordsUnavailable


class ClickedCard:
    """`message` as Slack sends it with a click; `changed` is told when a message is to be painted."""

    def __init__(
        self,
        message: Mapping[str, Any],
        *,
        channel: str,
        name: str,
        store: Store,
        changed: Callable[[], None],
    ) -> None:
        self._message_key, self._name = (channel, str(message.get("ts") or "")), name
        self._store, self._changed = store, changed
        blocks = [block for block in message.get("blocks") or () if block.get("block_id") != card_blocks.NOTE]
        self._original = Message(
            text=str(message.get("text") or ""), blocks=blocks
        )  # without another click's line

    def in_progress(self) -> Message:
        """The card, and whose click it works on."""
        return card_blocks.with_note(self._original, f"⏳ Working on it for @{self._name} …")

    async def is_stored(self) -> bool:
        """Whether the store has it, so that the courier paints it."""
        try:
            return await self._store.repaints.covers(*self._message_key)
        except RecordsUnavailable:
            return False

    async def restore(self) -> Message | None:
        """Have the courier paint it; the message as it was where nobody else does."""
        try:
            stored = await self._store.repaints.request(*self._message_key)
        except RecordsUnavailable:
            stored = False
        self._changed()
        return None if stored else self._original
