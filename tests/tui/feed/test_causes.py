"""What the dashboard says of each way in which the service fails, against the real sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import aiohttp
import pytest

from sandbox.service import Service
from shared.api import OutreachClient
from shared.domain.snapshot import RATE_LIMITED, REJECTED, SLOW, UNREADABLE
from shared.domain.workspace_verdict import SERVICE
from tests.kit.pace import lift_rate_limit
from tui.app.dashboard import utc_now
from tui.feed.poller import Poller, Tick, intervals
from tui.model.frame import Frame

FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"status": 401}, REJECTED),
    ({"body": "half"}, UNREADABLE),
    ({"status": 429, "retry_after": "1"}, RATE_LIMITED),
    ({"delay": 60.0}, SLOW),
]
PATIENCE_SECONDS = 3.0


@pytest.mark.timeout(120)
async def test_one_trouble_after_the_other_is_named_by_its_own_cause_and_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tui.feed.poller.STAGGER", 0.02)
    lift_rate_limit(monkeypatch)
    ticks: asyncio.Queue[Tick] = asyncio.Queue()
    async with Service(speed=0) as service, aiohttp.ClientSession() as http:
        service.guard.limited = False
        faults = f"{service.control_url}/faults"
        # As in the program, one silence ends before a reading does.
        async with OutreachClient(
            base_url=service.base_url, api_key=service.api_keys["acme"], timeout=0.8 * PATIENCE_SECONDS
        ) as client:
            poller = Poller(
                workspace="acme",
                intervals=intervals(0.3),
                jitter=0,
                now=utc_now,
                timeout=PATIENCE_SECONDS,
            )
            poller.start(ticks.put_nowait)
            poller.connect(client)
            try:
                before = await _until(ticks, lambda tick: tick.snapshot.is_whole)
                assert not trouble_of(before)
                for fault, cause in FAULTS:
                    began = utc_now()
                    await http.delete(faults)
                    async with http.post(faults, json={**fault, "times": None}) as answer:
                        answer.raise_for_status()
                    # Once nothing is read any more, the condition names no sources.
                    during = await _until(ticks, _is_of(cause))
                    frame = Frame(board=during.board, now=utc_now())
                    assert frame.headline.text.startswith(cause)
                    assert frame.service
                    assert frame.service.since
                    assert frame.service.since >= began - timedelta(seconds=PATIENCE_SECONDS)
                await http.delete(faults)
                await _until(ticks, lambda tick: not trouble_of(tick))
            finally:
                await poller.aclose()


def trouble_of(tick: Tick) -> str:
    """Why the service can't be read."""
    return next((one.text for one in tick.board.conditions if one.key == SERVICE), "")


def _is_of(cause: str) -> Callable[[Tick], bool]:
    return lambda tick: trouble_of(tick) == cause


async def _until(ticks: asyncio.Queue[Tick], fits: Callable[[Tick], bool]) -> Tick:
    async with asyncio.timeout(25):
        while not fits(tick := await ticks.get()):
            pass
        return tick
