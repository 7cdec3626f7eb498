"""One concurrent read of everything; what fails keeps its last value and says since when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import httpx

from shared.api.models import StatsRow
from shared.domain.snapshot import SOURCES, Snapshot, refresh
from tests.kit.scripted import ScriptedAccount

NOW = datetime(2026, 3, 10, 14, 30, tzinfo=UTC)
DOWN = httpx.Response(503, text="down")


def account() -> ScriptedAccount:
    inboxes = [{"email": f"{name}@good.com"} for name in "abcd"]
    counted = [{"group": "sq_1", "sends": 1000, "replies": 40}]
    return ScriptedAccount(inboxes=inboxes, stats=counted, now=NOW.timestamp)


async def test_days_before_that_are_only_known_in_part_are_unknown() -> None:
    service = account()
    client = service.client()
    service.first_day = "2026-01-20"
    taken = await refresh(Snapshot(workspace="acme"), SOURCES["previous"], client, now=NOW)
    assert taken.previous.value == StatsRow(group="previous")
    service.first_day = "2026-01-02"
    taken = await refresh(taken, SOURCES["previous"], client, now=NOW)
    assert taken.previous.value is not None
    assert taken.previous.value.sends


async def test_a_failure_keeps_the_value_and_says_since_when() -> None:
    service = account()
    client = service.client()
    source = SOURCES["inboxes"]
    taken = await refresh(Snapshot(workspace="acme"), source, client, now=NOW)
    service.failing["GET /inboxes"] = DOWN
    for minutes in (1, 2):
        taken = await refresh(taken, source, client, now=NOW + timedelta(minutes=minutes))
    assert len(taken.inboxes.value or ()) == 4
    assert (taken.inboxes.read_at, taken.inboxes.failed_since) == (NOW, NOW + timedelta(minutes=1))
    assert "GET /inboxes" in (taken.inboxes.error or "")
    service.failing.clear()
    healed = await refresh(taken, source, client, now=NOW + timedelta(minutes=3))
    assert (healed.inboxes.error, healed.inboxes.failed_since) == (None, None)
