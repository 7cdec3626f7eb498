"""The digests of the channels, each at its time in its zone, every day or once a week."""

from __future__ import annotations

from collections.abc import Callable

from bot import drawing
from bot.desks import Desks
from bot.ledger import Ledger
from bot.pictures import Pictures
from bot.schedule import BOT
from shared.operations.digest import digest_card

EVERY = 20.0
"""Seconds between two looks."""


class Digests:
    """`give` what is due; several processes may, each digest is given once."""

    def __init__(
        self, ledger: Ledger, desks: Desks, pictures: Pictures, *, planned: Callable[[], None]
    ) -> None:
        self._ledger, self._desks, self._pictures, self._planned = ledger, desks, pictures, planned

    async def give(self) -> None:
        """Draw each that is due, then plan it. Raises `RecordsUnavailable`."""
        for name in self._desks.clients:
            for one in await self._ledger.due_digests(name):
                desk = self._desks.at(self._desks.settings.workspace(name), BOT)
                card, picture = await self._pictures.illustrate(await digest_card(desk, every=one.every))
                if await self._ledger.give_digest(name, one, drawing.write_note(card, picture=picture)):
                    self._planned()
