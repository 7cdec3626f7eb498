"""Counts of answers against those of the service itself, read beside the client, on three accounts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, date, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import pytest
import time_machine
from pydantic import SecretStr

from bot.alerts import kinds
from bot.alerts.model import Alert
from sandbox.service import Service
from shared.api import OutreachClient
from shared.api.event_kinds import EVENTS
from shared.api.events import Event, EventLead
from shared.api.words import COUNTS
from shared.commands import parse
from shared.commands.leads import Lead, Remove
from shared.commands.report import read_report
from shared.commands.run import CommandContext, run
from shared.commands.times import Period
from shared.records.audit import Actor
from shared.settings import Workspace
from tests.clock import NOW
from tests.shared.doubles import MemoryRecords, NoPacing, Said, said

SMALL = Path(__file__).parents[2] / "sandbox/service/small.toml"
NOON = NOW.replace(hour=12)
"""The service's clock goes on, and so does the client's: their day must not end while one asks the other."""
TODAY = NOON.date()
ZONES = (UTC, ZoneInfo("Pacific/Auckland"), ZoneInfo("America/Los_Angeles"))
SEEDS = (7, 8, 9)


@pytest.fixture(autouse=True)
def _noon() -> Iterator[None]:
    with time_machine.travel(NOON, tick=True):
        yield


@asynccontextmanager
async def account(seed: int) -> AsyncIterator[tuple[CommandContext, httpx.AsyncClient]]:
    """A context of the bot, and a plain reader of the same workspace."""
    async with Service(speed=0, scenario=SMALL, seed=seed, now=NOON.timestamp()) as service:
        workspace, key = next(iter(service.api_keys.items()))
        async with httpx.AsyncClient(verify=False) as control:
            (await control.put(f"{service.control_url}/limiter", json={"form": "off"})).raise_for_status()
        plain = httpx.AsyncClient(base_url=service.base_url, headers={"Authorization": f"Bearer {key}"})
        async with (
            OutreachClient(base_url=service.base_url, api_key=key, pacer=NoPacing()) as client,
            plain as reader,
        ):
            yield (
                CommandContext(
                    workspace=Workspace(name=workspace, base_url=service.base_url, api_key=SecretStr(key)),
                    client=client,
                    actor=Actor(name="ann", face="slack", channel="C1"),
                    records=MemoryRecords(),
                    now=lambda: NOON,
                ),
                reader,
            )


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


@pytest.mark.parametrize("seed", SEEDS)
async def test_counts_of_every_period_and_zone_are_the_services(seed: int) -> None:
    async with account(seed) as (context, reader):
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


@pytest.mark.parametrize("seed", SEEDS)
async def test_total_days_and_comparison_of_a_report_are_of_one_period(seed: int) -> None:
    async with account(seed) as (context, reader):
        made = await read_report(Period(days=14), context)
        first, last = days_ago(13), days_ago(1)
        own = await counted(reader, **between(first, TODAY))
        assert {name: getattr(made.total, name) for name in COUNTS} == own
        assert {name: sum(getattr(row, name) for _, row in made.buckets) for name in COUNTS} == own
        assert made.change is not None
        back = timedelta(days=14)
        for row, days in (
            (made.change.now, (first, last)),
            (made.change.before, (first - back, last - back)),
        ):
            assert {name: getattr(row, name) for name in COUNTS} == await counted(reader, **between(*days))


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_card_of_every_kind_finds_its_lead(seed: int) -> None:
    """Leads of one status in the first list of the service are found by the buttons of a card, wherever the others are."""
    async with account(seed) as (context, reader):
        for kind in EVENTS.values():
            if kind.lead_status:
                listed = await reader.get("/leads", params={"status": kind.lead_status, "limit": "100"})
                leads = listed.raise_for_status().json()["data"]
                few = replace(context, pages_searched=1)
                for lead in leads[-3:]:
                    event = Event(kind=kind.name, lead=EventLead(email=lead["email"]), sequence="Q3")
                    card = kinds.card(Alert(id="al_1", event=event, received_at=NOW))
                    for action in (
                        button.action for button in card.buttons if isinstance(button.action, Lead | Remove)
                    ):
                        found = await say(few, action.line)
                        assert lead["id"] in str((found.data, found.question)), (kind.name, action.line)
                        assert action.status == kind.lead_status
