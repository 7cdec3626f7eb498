"""The client against a service that does as it is told."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from shared.api import OutreachClient
from shared.api.pace import LocalBudget, Priority
from tests.client.scripted_server import ScriptedServer, open_scripted_server

KEY = "ok_live_s3cr3tk3y"


class RecordingPacer(LocalBudget):
    """A pacer that lets everything pass and remembers what it was told."""

    def __init__(self) -> None:
        super().__init__()
        self.reserved: list[Priority] = []
        self.stops: list[float] = []
        self.delays: list[float] = []

    async def reserve(self, *, priority: Priority, deadline: float | None) -> None:
        self.reserved.append(priority)

    async def late(self, seconds: float) -> None:
        self.delays.append(seconds)

    async def throttled(self, retry_after: float) -> None:
        self.stops.append(retry_after)


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with open_scripted_server() as opened:
        yield opened


@pytest.fixture
def pacer() -> RecordingPacer:
    return RecordingPacer()


@pytest.fixture
async def client(server: ScriptedServer, pacer: RecordingPacer) -> AsyncIterator[OutreachClient]:
    async with OutreachClient(
        base_url=server.base_url,
        api_key=KEY,
        pacer=pacer,
        # Long, so that a busy machine fails no test; one about waiting makes a client of its own.
        timeout=20.0,
        total_timeout=60.0,
        # The real one is by chance: between nothing and the whole delay.
        jitter=lambda: 0.05,
    ) as made:
        yield made
