"""The card that somebody clicked: it says that their click is under way, and afterwards how things stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bot.blockkit import card_blocks
from bot.blockkit.card_blocks import Message
from bot.store.interaction_store import Interaction
from shared.domain.records import RecordsUnavailable


class ClickedCard:
    """`message` as Slack sends it with a click; `changed` is told when a message is to be painted."""

    def __init__(
        self,
        message: Mapping[str, Any],
        *,
        channel: str,
        name: str,
        interaction: Interaction,
        changed: Callable[[], None],
    ) -> None:
        self._place, self._name = (channel, str(message.get("ts") or "")), name
        self._interaction, self._changed = interaction, changed
        drawn = [block for block in message.get("blocks") or () if block.get("block_id") != card_blocks.NOTE]
        self._before = Message(
            text=str(message.get("text") or ""), blocks=drawn
        )  # without another click's line

    def under_way(self) -> Message:
        """The card, and whose click it works on."""
        return card_blocks.annotated(self._before, f"⏳ Working on it for @{self._name} …")

    async def is_kept(self) -> bool:
        """Whether the ledger has it, so that the courier paints it."""
        try:
            return await self._interaction.keeps(*self._place)
        except RecordsUnavailable:
            return False

    async def restore(self) -> Message | None:
        """Have the courier paint it; the message as it was where nobody else does."""
        try:
            kept = await self._interaction.paint_again(*self._place)
        except RecordsUnavailable:
            kept = False
        self._changed()
        return None if kept else self._before
