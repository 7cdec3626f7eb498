"""One concurrent read of everything; what fails keeps its last value and says since when."""

from __future__ import annotations

from datetime import timedelta

import httpx

from shared.api.models import StatsRow
from shared.domain.snapshot import SOURCES, Snapshot, refresh
from tests.shared.harness import NOW, CommandHarness

DOWN = httpx.Response(503, text="down")


async def test_days_before_that_are_only_known_in_part_are_unknown(harness: CommandHarness) -> None:
    harness.service.first_day = "2026-01-20"
    taken = await refresh(Snapshot(workspace="acme"), SOURCES["previous"], harness.client, now=NOW)
    assert taken.previous.value == StatsRow(group="previous")
    harness.service.first_day = "2026-01-02"
    taken = await refresh(taken, SOURCES["previous"], harness.client, now=NOW)
    assert taken.previous.value is not None
    assert taken.previous.value.sends


async def test_a_failure_keeps_the_value_and_says_since_when(harness: CommandHarness) -> None:
    source = SOURCES["inboxes"]
    taken = await refresh(Snapshot(workspace="acme"), source, harness.client, now=NOW)
    with harness.failing("GET /inboxes", DOWN):
        for minutes in (1, 2):
            taken = await refresh(taken, source, harness.client, now=NOW + timedelta(minutes=minutes))
    assert len(taken.inboxes.value or ()) == 4
    assert (taken.inboxes.read_at, taken.inboxes.failed_since) == (NOW, NOW + timedelta(minutes=1))
    assert "GET /inboxes" in (taken.inboxes.error or "")
    healed = await refresh(taken, source, harness.client, now=NOW + timedelta(minutes=3))
    assert (healed.inboxes.error, healed.inboxes.failed_since) == (None, None)
