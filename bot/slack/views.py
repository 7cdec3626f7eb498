"""One call of the Web API that shows a view; kept apart because both modals and Home make it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from slack_sdk.web.async_client import AsyncWebClient

from bot.telemetry import metrics


async def called(client: AsyncWebClient, method: str, **body: Any) -> Mapping[str, Any]:
    """The answer. Raises what `people.NOT_ANSWERED` lists."""
    metrics.SLACK_CALLS.labels(method).inc()
    return cast("Mapping[str, Any]", (await client.api_call(method, json=body)).data)
