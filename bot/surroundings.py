"""Keep cards true to what happens elsewhere: a sequence paused in the dashboard, a domain that recovers.

The service tells of neither by itself, so it is asked now and then while a card is open, and at once when
somebody has changed something here.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import structlog

from bot import alerts, drawing
from bot.desks import Desks
from bot.ledger import Ledger
from bot.ledger.inbox import Planned
from bot.ledger.standing import NAME, Watched
from bot.telling import lasted
from shared.api.errors import OutreachError
from shared.api.models import Inbox
from shared.api.models import Sequence as Campaign
from shared.card import Card, Tone
from shared.health import verdict
from shared.records import RecordsUnavailable

EVERY = 10.0
"""Seconds between two looks."""
LEAST = 0.2
"""Seconds between two looks that were asked for."""
WEEK = 7 * 86_400.0

Yesterday = Callable[[str, datetime], Awaitable[Mapping[str, tuple[float | None, float | None]]]]
"""Workspace and moment to health and limit by address, as far as the history has them."""

log = structlog.get_logger("surroundings")


class Surroundings:
    """`run` until cancelled; `soon` when something was changed here."""

    def __init__(self, ledger: Ledger, desks: Desks, *, yesterday: Yesterday) -> None:
        self._ledger, self._desks, self._yesterday = ledger, desks, yesterday
        self.planned: Callable[[], None] = lambda: None
        self._asked = asyncio.Event()

    def soon(self) -> None:
        """Look now."""
        self._asked.set()

    async def run(self) -> None:
        """Look again and again."""
        while True:
            for workspace in self._desks.clients:
                await self._try(workspace)
            await asyncio.sleep(LEAST)
            try:
                # wait_for would swallow a cancellation that follows `soon`
                async with asyncio.timeout(EVERY - LEAST):
                    await self._asked.wait()
            except TimeoutError:
                continue
            self._asked.clear()

    async def _try(self, workspace: str) -> None:
        try:
            await self.look(workspace)
        except (OutreachError, RecordsUnavailable) as error:
            log.warning("not looked", workspace=workspace, error=type(error).__name__)

    async def look(self, workspace: str) -> None:
        """Compare the open cards of a workspace with the service. Raises `OutreachError`, `RecordsUnavailable`."""
        open_ = await self._ledger.watched(workspace)
        interested = [one for one in open_ if one.kind == alerts.INTERESTED]
        domains = [one for one in open_ if one.kind == alerts.PAUSED]
        changed = False
        client = self._desks.clients[workspace]
        if interested:
            sequences = await client.list_sequences()
            for one in interested:
                changed |= await self._ledger.stand(one.alert_id, sequence_standing(one, sequences))
        if domains:
            inboxes = await client.list_inboxes()
            for one in domains:
                changed |= await self._look_at_domain(workspace, one, inboxes)
        if changed:
            self.planned()

    async def _look_at_domain(self, workspace: str, one: Watched, inboxes: Sequence[Inbox]) -> bool:
        own = [inbox for inbox in inboxes if inbox.domain == one.domain]
        since = one.received_at - WEEK
        counts, names = await self._ledger.told_of(workspace, one.domain, since=since)
        before = json.loads(one.standing or "{}")
        known = {row["address"]: row for row in before.get("inboxes", ())}
        past = {} if known else await self._yesterday(workspace, yesterday_of(one))
        rows = [inbox_row(inbox, known=known.get(inbox.email), past=past) for inbox in own]
        now: dict[str, Any] = {"inboxes": rows, "counts": dict(counts), "sequences": list(names)}
        now["troubled"] = bool(before.get("troubled")) or not healthy(own, desks=self._desks, name=workspace)
        recovered = now["troubled"] and bool(own) and healthy(own, desks=self._desks, name=workspace)
        note = recovered_note(one, now=self._ledger.store.clock()) if recovered else None
        return await self._ledger.stand(one.alert_id, _json(now), note=note)


def yesterday_of(one: Watched) -> datetime:
    """A day before the alert came."""
    return drawing.moment(one.received_at) - timedelta(days=1)


def healthy(inboxes: Sequence[Inbox], *, desks: Desks, name: str) -> bool:
    """Whether every inbox sends, and none of them is at risk."""
    thresholds = desks.settings.workspace(name).thresholds
    return all(
        inbox.status != "resting" and verdict(inbox, thresholds=thresholds).tone is Tone.GOOD
        for inbox in inboxes
    )


def sequence_standing(one: Watched, sequences: Sequence[Campaign]) -> str:
    """`{"sequence": "paused"}` when every sequence that it can mean is paused; empty while it runs."""
    said = one.sequence.casefold()
    meant = [s for s in sequences if said in {s.id.casefold(), (s.name or "")[:NAME].casefold()}]
    paused = bool(meant) and all(s.status == "paused" for s in meant)
    return _json({"sequence": "paused"}) if paused else ""


def inbox_row(
    inbox: Inbox,
    *,
    known: Mapping[str, Any] | None,
    past: Mapping[str, tuple[float | None, float | None]],
) -> dict[str, Any]:
    """An inbox as it stands; what it was the day before stays as it was first found."""
    health, limit = past.get(inbox.email, (None, None))
    return {
        "address": inbox.email,
        "health": inbox.health_score,
        "limit": inbox.daily_limit,
        "status": inbox.status,
        "health_before": known.get("health_before") if known else health,
        "limit_before": known.get("limit_before") if known else limit,
    }


def recovered_note(one: Watched, *, now: float) -> Planned:
    """What the thread and the channel are told."""
    took = lasted(drawing.moment(now), since=drawing.moment(one.received_at))
    card = Card(
        title=f"{one.domain} has recovered",
        tone=Tone.GOOD,
        text=(f"Its inboxes send again, all of them healthy, after {took}.",),
    )
    return Planned(
        dedupe=f"{one.alert_id}:recovered",
        channel="",
        kind="recovered",
        note=drawing.write_note(card),
        condensed=True,
        alert_id=one.alert_id,
    )


def _json(standing: Mapping[str, Any]) -> str:
    return json.dumps(standing, sort_keys=True)
