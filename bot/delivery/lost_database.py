"""Reports that the database's file was deleted or replaced under the running bot."""

from __future__ import annotations

import contextlib
from secrets import token_hex

import structlog

from bot.alerts import rendering
from bot.store import Store
from bot.store.queue.outbox import PlannedPost
from bot.telemetry import metrics
from shared.domain.card import Card, Tone
from shared.records.records import RecordsUnavailable
from shared.settings import Settings

_CARD = Card(
    title="The bot's database was replaced",
    tone=Tone.BAD,
    text=(
        "Its file was deleted or replaced while the bot ran. The bot continues with the file that is there now, or a new one.",
        "Only the old one has the alerts that weren't posted yet, the claims, subscriptions and timed pauses.",
        "To get them back, stop the bot and run `outreach database restore FILE` with your last backup.",
    ),
)
log = structlog.get_logger("bot")


async def report_replaced(settings: Settings, store: Store) -> None:
    """Log and count it, and note it in each alert channel. The database is the one that is at the path now."""
    log.error("the database's file was deleted or replaced while the bot ran")
    metrics.DATABASE_REPLACED.inc()
    note = rendering.write_note(_CARD)
    noted: set[str] = set()
    for name, workspace in settings.workspaces.items():
        channel = workspace.alert_channel or settings.routes.fallback
        if channel and channel not in noted:
            noted.add(channel)
            dedupe = f"note:replaced:{channel}:{token_hex(4)}"
            with contextlib.suppress(RecordsUnavailable):
                await store.outbox.plan(
                    name, PlannedPost(dedupe=dedupe, channel=channel, kind="note", note=note)
                )
