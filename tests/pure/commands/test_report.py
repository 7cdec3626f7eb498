"""`report`: the summary, and the page where the settings name a place for it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import httpx
import pytest

from shared.commands import UsageError
from shared.records import AuditEntry
from shared.settings import load
from tests.kit.commands import DOWN, NOW, CommandHarness, facts


async def test_the_summary_tells_counts_touches_health_and_incidents(harness: CommandHarness) -> None:
    ago = NOW - datetime(2026, 3, 4, 9, tzinfo=UTC)
    await harness.deliver("reply.interested", "ada@x.example", "bob@x.example", ago=ago, reply="Yes")
    await harness.deliver("domain.paused", "", ago=ago, domain="poor.com")
    with harness.at(ago - timedelta(minutes=4)):
        await harness.store.alerts.act((await harness.ids())["ada@x.example"], "claim", harness.actor)
    paused = AuditEntry(
        at=NOW - ago, actor=harness.actor, workspace="default", command="pause sq_1", result="Spring paused",
        effect="paused", sequences=("sq_3",),
    )  # fmt: skip
    await harness.store.record(paused)
    card = await harness.say("report last week")
    by_label = facts(card)
    assert card.title == "Report, 2 to 8 March"
    assert by_label["Sends"].startswith("4,000")
    assert by_label["Time to claim"] == "1 claim, median 4 min, 1 not claimed yet"
    assert by_label["Domains"].startswith("1 of 3 domains healthy")
    assert by_label["Incidents"] == "1 incident, 1 change"
    assert "ada@x.example" not in str(card)
    assert card.buttons == ()
    (data,) = card.data
    assert (data["from"], data["to"]) == ("2026-03-02", "2026-03-08")


@pytest.mark.parametrize(
    "line", ["report 2020-01-01..2026-01-01", "report 900d", "report by step", "report lastweek"]
)
async def test_an_invalid_report_range_is_refused(harness: CommandHarness, line: str) -> None:
    with pytest.raises(UsageError):
        await harness.say(line)


async def test_unreadable_records_are_reported_as_unknown(harness: CommandHarness) -> None:
    harness.records = DOWN
    with harness.failing("GET /inboxes", httpx.Response(500)):
        card = await harness.say("report last week")
    by_label = facts(card)
    assert by_label["Time to claim"] == by_label["Incidents"] == by_label["Domains"] == "unknown"
    assert any("the database is gone" in line for line in card.text)


async def test_sequences_of_one_name_are_told_apart_in_a_report(harness: CommandHarness) -> None:
    # Names need not be unique at the service: added up under one, the counts would belong to neither.
    for one in harness.service.sequences:
        one["name"] = "Webinar"
    for row in harness.service.stats:
        row |= {"id": row["group"], "group": "Webinar"}
    found = await harness.say("report last week")
    assert found.data
    assert [row["group"] for row in found.data[0]["sequences"]] == ["Webinar (sq_3)", "Webinar (sq_1)"]


async def test_the_dns_of_a_status_is_unknown_without_records_and_left_out_where_it_is_off(
    harness: CommandHarness,
) -> None:
    harness.records = DOWN
    checked = await harness.say("status", settings=load(environ={}))
    assert facts(checked)["DNS"].startswith("unknown")
    assert "DNS" not in facts(await harness.say("status"))
