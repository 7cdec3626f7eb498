"""What a check for lost deliveries reads: the newest leads, and of the others a portion."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from bot.commands.context import CommandContexts
from bot.jobs import polls
from bot.jobs.polls import PAGES, Reconciler
from shared import settings as shared_settings
from shared.store import Store, open_store
from tests.kit.due import core_of
from tests.kit.manual_clock import CHANNEL, ManualClock, routes
from tests.kit.scripted import BASE, ScriptedAccount


def lead(number: int) -> dict[str, Any]:
    return {
        "id": f"ld_{number}", "email": f"ada{number}@acme.example", "status": "interested", "sequence_id": "",
    }  # fmt: skip


@dataclass
class Check:
    """A service with leads, and the job that compares it with the store."""

    store: Store
    remote: ScriptedAccount
    reconciler: Reconciler

    async def run(self) -> None:
        self.remote.requests.clear()
        await self.reconciler.reconcile()

    async def found(self) -> list[str]:
        await self.store.deliveries.route(routes().decide, limit=1_000)
        return sorted(reply.email for reply in (await self.store.open_replies("default")).replies)

    @property
    def pages(self) -> int:
        return len(self.remote.asked("GET"))


@pytest.fixture
async def check(url: sa.URL, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Check]:
    monkeypatch.setattr(polls, "SETTLING_SECONDS", 0.0)
    remote = ScriptedAccount()
    environ = {
        "OUTREACH_BASE_URL": BASE, "OUTREACH_API_KEY": "key", "OUTREACH_ALERT_CHANNEL": CHANNEL,
        "OUTREACH_DATABASE_URL": url.render_as_string(hide_password=False),
    }  # fmt: skip
    settings = shared_settings.load(environ=environ)
    async with open_store(url, clock=clock) as store, remote.client() as client:
        contexts = CommandContexts(settings=settings, store=store, clients={"default": client})
        yield Check(store, remote, Reconciler(core_of(contexts)))


async def test_new_leads_are_read_until_a_page_is_all_known(check: Check) -> None:
    check.remote.leads = [lead(number) for number in range(4_000)]
    await check.run()
    check.remote.leads = [lead(number) for number in range(5_000, 5_250)] + check.remote.leads
    await check.run()
    newest = 4  # 250 new ones, and a page of known ones
    assert check.pages == 2 * (newest + PAGES)  # a second look after the grace
    assert len(await check.found()) == 250
    await check.run()
    assert check.pages == 1 + PAGES


async def test_an_old_lead_that_becomes_interested_is_found_in_its_turn(check: Check) -> None:
    check.remote.leads = [lead(number) for number in range(2_500)]
    await check.run()
    # Behind the pages that one check reads (PAGES): its turn comes with the next.
    check.remote.leads.insert(1_900, lead(9_000))
    await check.run()
    assert await check.found() == []
    await check.run()
    assert await check.found() == ["ada9000@acme.example"]


async def test_a_cursor_that_the_service_refuses_is_forgotten(check: Check) -> None:
    check.remote.leads = [lead(number) for number in range(2_500)]
    await check.run()
    await check.run()
    # The service may have forgotten the cursor: kept, it would be refused at every check from then on.
    check.remote.failing[""] = httpx.Response(400)
    await check.run()
    check.remote.failing.clear()
    check.remote.leads.insert(900, lead(9_000))
    await check.run()
    assert await check.found() == ["ada9000@acme.example"]
