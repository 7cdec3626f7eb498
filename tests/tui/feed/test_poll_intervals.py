"""How often the service is asked, and that it is never asked in a burst."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise
from pathlib import Path

import aiohttp
import pytest

from sandbox.service import Service
from shared.commands.run import open_client
from shared.domain.snapshot import SOURCES
from shared.settings import SettingsError, load
from tests.kit.clock import moment
from tests.tui.feed.test_poller import Watcher
from tests.tui.service_settings import settings_of
from tui.feed.poller import STAGGER, Poller, intervals


@pytest.mark.parametrize(
    "line", ["intervals = {inboxes = 0}", "intervals = {inboxes = 'often'}", "jitter = 3"]
)
def test_invalid_intervals_are_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "outreach.toml").write_text(f"[dashboard]\n{line}\n")
    with pytest.raises(SettingsError, match="dashboard"):
        load(config=tmp_path / "outreach.toml", environ={})


async def test_a_start_is_no_burst_and_hurrying_all_neither(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    async with Service() as service:
        settings, watcher = settings_of(service, tmp_path), Watcher()
        async with open_client(settings, settings.workspace()) as client:
            poller = Poller(
                workspace="acme",
                intervals=intervals(600),
                now=moment,
            )
            moments = [time.monotonic()]
            poller.start(watcher)
            poller.connect(client)
            await watcher.until(lambda tick: tick.beats >= len(SOURCES))
            moments.append(time.monotonic())
            poller.read_now()
            await watcher.until(lambda tick: tick.beats >= 2 * len(SOURCES))
            moments.append(time.monotonic())
            await poller.aclose()
        async with (
            aiohttp.ClientSession() as browser,
            browser.get(f"{service.control_url}/summary") as answer,
        ):
            body = await answer.json()
    asks_whether_known = 1  # the 30 days before
    assert body["requests"] == 2 * (len(SOURCES) + asks_whether_known)
    # A busy machine lets what is apart arrive together, but never earlier.
    assert all(after - before >= (len(SOURCES) - 1) * STAGGER for before, after in pairwise(moments))
    assert body["rate_limited"] == 0
    assert not [task for task in asyncio.all_tasks() if "poller" in task.get_name()]
