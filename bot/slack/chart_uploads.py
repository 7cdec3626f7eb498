"""Charts as pictures in Slack, where the token may upload files (files:write); as lines of text where not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace

import aiohttp
import structlog
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from bot.blockkit.elements import Block
from bot.telemetry import metrics
from shared.domain.card import Card, Chart

TIMEOUT = 10.0
REFUSED_FOR = 600.0
"""Seconds after a refusal until an upload is tried again."""

log = structlog.get_logger("pictures")


class ChartUploads:
    """`illustrate` a card."""

    def __init__(self, client: AsyncWebClient, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._client, self._clock = client, clock
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
            metrics.SLACK_CALLS.labels("files.completeUploadExternal").inc()
            answer = await asyncio.wait_for(
                self._client.files_upload_v2(filename="chart.png", content=content, title=chart.title),
                TIMEOUT,
            )
            address = str(answer["files"][0]["url_private"])
        except (SlackApiError, SlackClientError, aiohttp.ClientError, TimeoutError, OSError) as error:
            log.warning("no picture", error=type(error).__name__)
            self._not_before = self._clock() + REFUSED_FOR
            return None
        except (KeyError, IndexError, TypeError) as error:
            log.warning("no picture", error=f"the upload's answer names no address: {type(error).__name__}")
            return None
        return {"type": "image", "slack_file": {"url": address}, "alt_text": charts.alt_text(chart)[:2000]}
