"""The whole sandbox in one block: the outreach service and the Slack stand-in, in the running event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from sandbox.service import Service
from sandbox.slack.server import SlackStandIn


@asynccontextmanager
async def embedded(
    service: Service, *, slack_port: int = 0, bot_url: str = "http://127.0.0.1:3000"
) -> AsyncIterator[dict[str, Any]]:
    """Run both while the block runs; yields what scripts need to know of them."""
    async with service, SlackStandIn(port=slack_port, bot_url=bot_url) as slack:
        yield {
            "base_url": service.base_url,
            "api_keys": service.api_keys,
            "control_url": service.control_url,
            "dns_resolvers": service.dns_resolvers,
            **slack.announcement,
        }
