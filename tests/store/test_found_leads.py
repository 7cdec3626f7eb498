"""Interested leads that the API shows without a delivery, on both engines."""

from __future__ import annotations

import asyncio
import json
from inspect import unwrap

import pytest
import sqlalchemy as sa

from shared.store import Store
from shared.store.db.engine import Transaction
from shared.store.deliveries import Arrival, FoundLeads
from tests.bot.harness import interested
from tests.bot.manual_clock import ManualClock, routes
from tests.kit.waiting import until


def from_api(email: str, **more: str) -> dict[str, bytes]:
    lead = {"email": email, **more}
    return {email.lower(): json.dumps({"event": "reply.interested", "lead": lead, "found": "ld_1"}).encode()}


@pytest.mark.parametrize("delivered", ["before the found one is routed", "in the same look"])
async def test_a_delivery_that_comes_while_its_lead_is_being_found_makes_one_alert(
    store: Store, clock: ManualClock, delivered: str
) -> None:
    found = from_api("Straße1@acme.example") | from_api("ada2@acme.example")
    # The first look takes what is there for known, the second sees the leads, the third is after the grace.
    for leads in ({}, found, found):
        await store.found_leads.compare("default", leads, grace=60)
        clock.now += 61
    # A delivery may spell the address in other letters and with spaces: it is the same lead.
    body = interested(1, lead={"email": " STRAßE1@acme.example "})
    await store.arrivals.append([Arrival(workspace="default", body=body, at=clock.now)])
    for _ in range(3 if "before" in delivered else 1):
        await store.deliveries.route(routes().decide, limit=1 if "before" in delivered else 50)
    assert sorted(reply.email for reply in (await store.records.open_replies("default")).replies) == [
        "ada2@acme.example",
        "straße1@acme.example",
    ]


async def test_two_that_look_at_once_and_see_a_lead_in_two_forms_announce_it_once(
    store: Store, clock: ManualClock
) -> None:
    await store.found_leads.compare("default", {}, grace=60)
    await store.found_leads.compare("default", from_api("ada@acme.example"), grace=60)
    clock.now += 61
    first, second = (from_api("ada@acme.example", company=name) for name in ("Acme", "Acme Inc."))
    with store.database.engine.begin() as connection:
        # A transaction that stays open, so that the second look meets it before its commit.
        first_look = Transaction(connection, lambda _: clock.now)
        unwrap(FoundLeads.compare)(store.found_leads, first_look, "default", first, grace=60)
        looking = asyncio.create_task(store.found_leads.compare("default", second, grace=60))
        if not store.database.is_sqlite:  # there the second cannot even begin
            await until(lambda: someone_waits(store))
    await looking
    await store.deliveries.route(routes().decide)
    assert [reply.email for reply in (await store.records.open_replies("default")).replies] == [
        "ada@acme.example"
    ]


async def someone_waits(store: Store) -> bool:
    waiting = sa.text("SELECT count(*) FROM pg_locks WHERE NOT granted")
    return bool(await store.database.read(lambda connection: connection.scalar(waiting)))


async def test_two_processes_that_route_a_lead_and_its_delivery_make_one_alert(
    store: Store, clock: ManualClock
) -> None:
    found: dict[str, bytes] = {}
    for number in range(20):
        found |= from_api(f"ada{number}@acme.example")
    await store.found_leads.compare("default", {}, grace=60)
    await store.found_leads.compare("default", found, grace=60)
    clock.now += 61
    for number, one in enumerate(found):
        earlier = 1 if number % 2 else -1  # the delivery is taken first, or what was found
        batch = [Arrival(workspace="default", body=interested(number), at=clock.now - earlier / 10)]
        await store.arrivals.append(batch)
        await store.found_leads.compare("default", {one: found[one]}, grace=60)
        clock.now += 1
    # One at a time, so that a lead and its delivery are routed by different transactions.
    await asyncio.gather(*(store.deliveries.route(routes().decide, limit=1) for _ in range(50)))
    emails = [reply.email for reply in (await store.records.open_replies("default")).replies]
    assert sorted(emails) == sorted(found)
