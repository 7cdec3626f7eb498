"""Commands over HTTP against the sandbox's service, and their counts against those that it answers a plain reader."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import UTC, date, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import pytest
import time_machine
from pydantic import SecretStr

from bot import cards
from shared.api import OutreachClient
from shared.api.events import Event, EventLead
from shared.api.words import COUNTS
from shared.commands import COMMANDS, parse
from shared.commands.base import CommandContext
from shared.commands.leads import Lead, Remove
from shared.commands.run import run
from shared.domain.alert import Alert
from shared.settings import Workspace
from tests.kit.clock import NOW
from tests.kit.commands import CommandHarness, Said, said
from tests.kit.pace import NoPacing
from tests.kit.service import open_account

SMALL = Path(__file__).parents[2] / "sandbox/service/small.toml"
NOON = NOW.replace(hour=12)
"""The service's clock goes on, and so does the client's: their day must not end while one asks the other."""
TODAY = NOON.date()
# A day of the service is one of UTC: a reader ahead of it or behind must see the same counts.
ZONES = (UTC, ZoneInfo("Pacific/Auckland"), ZoneInfo("America/Los_Angeles"))


@pytest.fixture(autouse=True)
def _noon() -> Iterator[None]:
    with time_machine.travel(NOON, tick=True):
        yield


@pytest.fixture
async def reader() -> AsyncIterator[httpx.AsyncClient]:
    """A plain reader of an account."""
    options: dict[str, Any] = {"scenario": SMALL, "seed": 7, "now": NOON.timestamp()}
    async with open_account(**options) as account:
        headers = {"Authorization": f"Bearer {account.key}"}
        async with httpx.AsyncClient(base_url=account.base_url, headers=headers) as http:
            yield http


@pytest.fixture
async def context(reader: httpx.AsyncClient, harness: CommandHarness) -> AsyncIterator[CommandContext]:
    """A context of the bot in the same account."""
    url, key = str(reader.base_url).rstrip("/"), reader.headers["Authorization"].removeprefix("Bearer ")
    async with OutreachClient(base_url=url, api_key=key, pacer=NoPacing()) as client:
        workspace = Workspace(name="default", base_url=url, api_key=SecretStr(key))
        yield replace(harness.context, client=client, workspace=workspace, now=lambda: NOON)


async def say(context: CommandContext, line: str) -> Said:
    return said(await run(parse(line), context))


async def counted(reader: httpx.AsyncClient, **query: str) -> dict[str, int]:
    rows = (await reader.get("/stats", params=query)).raise_for_status().json()["data"]
    return {name: sum(row[name] for row in rows) for name in COUNTS}


def summed(card: Said) -> dict[str, Any]:
    return {name: sum(row[name] for row in card.data or ()) for name in COUNTS}


def between(first: date, last: date) -> dict[str, str]:
    return {"from": first.isoformat(), "to": last.isoformat()}


def days_ago(days: int) -> date:
    return TODAY - timedelta(days=days)


MONDAY, MONTH = days_ago(TODAY.weekday()), TODAY.replace(day=1)
PERIODS: tuple[tuple[str, dict[str, str]], ...] = (
    ("", {}),
    ("today", between(TODAY, TODAY)),
    ("yesterday", between(days_ago(1), days_ago(1))),
    ("7d", between(days_ago(6), TODAY)),
    ("this week", between(MONDAY, TODAY)),
    ("last week", between(MONDAY - timedelta(days=7), MONDAY - timedelta(days=1))),
    ("this month", between(MONTH, TODAY)),
    ("last month", between((MONTH - timedelta(days=1)).replace(day=1), MONTH - timedelta(days=1))),
    (f"{days_ago(12)}..{days_ago(1)}", between(days_ago(12), days_ago(1))),
)


async def test_counts_of_every_period_and_zone_are_the_services(
    context: CommandContext, reader: httpx.AsyncClient
) -> None:
    for period, query in PERIODS:
        own = await counted(reader, **query)
        for zone in ZONES:
            card = await say(replace(context, zone=zone), f"stats {period}")
            shown = {fact.label: fact.value.split(" ")[0].rstrip(",") for fact in card.facts}
            assert summed(card) == own, (period, zone)
            assert shown in ({}, {
                "Sends": f"{own['sends']:,}", "Replies": f"{own['replies']:,}",
                "Positive": f"{own['positive_replies']:,}", "Meetings": f"{own['meetings']:,}",
            }), (period, zone)  # fmt: skip
    assert (await counted(reader))["sends"] > 100


async def test_total_days_and_comparison_of_a_report_are_of_one_period(
    context: CommandContext, reader: httpx.AsyncClient
) -> None:
    (data,) = (await say(context, "report 14d")).data
    first, last, back = days_ago(13), days_ago(1), timedelta(days=14)
    own = await counted(reader, **between(first, TODAY))
    assert {name: data["totals"][name] for name in COUNTS} == own
    assert {name: sum(day[name] for day in data["days"]) for name in COUNTS} == own
    before = await counted(reader, **between(first - back, last - back))
    assert {name: data["before"][name] for name in COUNTS} == before


STATUSES = {
    "lead.replied": "replied",
    "reply.interested": "interested",
    "lead.bounced": "bounced",
    "lead.unsubscribed": "unsubscribed",
    "sequence.completed": "completed",
}


async def test_a_card_of_every_kind_finds_its_lead(
    context: CommandContext, reader: httpx.AsyncClient
) -> None:
    """Leads of one status in the first list of the service are found by the buttons of a card, wherever the others are."""
    few = replace(context, pages_searched=1)
    for kind, status in STATUSES.items():
        listed = await reader.get("/leads", params={"status": status, "limit": "100"})
        for lead in listed.raise_for_status().json()["data"][-3:]:
            event = Event(kind=kind, lead=EventLead(email=lead["email"]), sequence="Q3")
            card = cards.card(Alert(id="al_1", event=event, received_at=NOW.timestamp()))
            for action in (one.action for one in card.buttons if isinstance(one.action, Lead | Remove)):
                found = await say(few, action.line)
                assert lead["id"] in str((found.data, found.question)), (kind, action.line)


async def test_every_example_of_the_table_is_answered(context: CommandContext) -> None:
    for command in COMMANDS.values():
        for line in command.examples:
            card = await say(context, line)
            assert card.title
            assert card.question or all(parse(button.line) for button in card.buttons)
