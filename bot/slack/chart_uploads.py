"""Charts as pictures in Slack, where the token may upload files (files:write); as lines of text where not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace

import structlog

from bot.blockkit.elements import Block
from bot.slack.web_api import SlackError, WebApi
from shared.domain.card import Card, Chart

REFUSED_FOR = 600.0
"""Seconds after a refusal until an upload is tried again."""

log = structlog.get_logger("pictures")


class ChartUploads:
    """`illustrate` a card."""

    def __init__(self, slack: WebApi, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._slack, self._clock = slack, clock
        self._not_before = 0.0

    async def illustrate(self, card: Card) -> tuple[Card, Block | None]:
        """The card with a picture of its chart beside it, or with the chart's lines of text in it."""
        if card.chart is None:
            return card, None
        picture = await self._upload(card.chart) if self._clock() >= self._not_before else None
        if picture is not None:
            return card, picture
        from bot.blockkit import charts

        return replace(card, facts=(*card.facts, *charts.as_text(card.chart))), None

    async def _upload(self, chart: Chart) -> Block | None:
        from bot.blockkit import charts  # late: the picture library is slow to load, and few need it

        try:
            content = await asyncio.to_thread(charts.picture, chart)
            address = await self._slack.upload("chart.png", content, title=chart.title)
        except (SlackError, OSError) as error:
            log.warning("chart not uploaded", error=str(error))
            self._not_before = self._clock() + REFUSED_FOR
            return None
        if not address:
            log.warning("chart not uploaded", error="Slack's answer names no address")
            return None
        return {"type": "image", "slack_file": {"url": address}, "alt_text": charts.alt_text(chart)[:2000]}
