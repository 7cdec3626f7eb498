"""When a pause with a duration has run out: the sequence goes on, and its channel is told."""

from __future__ import annotations

from collections.abc import Callable

from bot import drawing
from bot.desks import Desks
from bot.ledger import Ledger
from bot.ledger.inbox import Planned
from bot.ledger.timers import Firing
from bot.schedule import BOT
from shared import commands, operations
from shared.api.errors import NotFound
from shared.card import Card, Tone
from shared.words import join


class Resumption:
    """Carries out timers of the kind `resume`; doing it twice does no harm, and is announced once."""

    def __init__(self, ledger: Ledger, desks: Desks, *, planned: Callable[[], None]) -> None:
        self._ledger, self._desks, self._planned = ledger, desks, planned

    async def __call__(self, firing: Firing) -> None:
        """Resume and announce. Raises `OutreachError`, `RecordsUnavailable`: try again later."""
        try:
            card = await self._run(firing)
        except NotFound as error:
            card = Card(title="A paused sequence is gone", tone=Tone.WARN, text=(str(error),))
        await self._announce(firing, card)

    async def _run(self, firing: Firing) -> Card:
        workspace = self._desks.settings.workspace(firing.workspace)
        invocation = commands.parse(join("resume", firing.timer.key))
        return await operations.run(invocation, self._desks.at(workspace, BOT))

    async def _announce(self, firing: Firing, card: Card) -> None:
        workspace = self._desks.settings.workspace(firing.workspace)
        channel = firing.timer.payload.get("channel") or workspace.alert_channel
        if channel:
            said = Card(title=card.title, tone=card.tone, text=(*card.text, "Its pause has run out."))
            dedupe = f"note:resume:{firing.id}:{firing.timer.due_at.timestamp()}"
            note = Planned(dedupe=dedupe, channel=channel, kind="note", note=drawing.write_note(said))
            await self._ledger.note(firing.workspace, note)
            self._planned()
