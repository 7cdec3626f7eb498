"""A domain that is paused, rests, warms up and is well again: the card, its thread, and what was yesterday."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.alerts import domains
from bot.commands.context import open_contexts
from bot.jobs.samples import HistorySampler
from sandbox.service import Service
from sandbox.slack import seed
from shared import settings as shared_settings
from shared.api.models import Inbox
from shared.domain.health import DEFAULT
from shared.history.history import History
from shared.store import open_store
from tests.bot.fake_service import Remote
from tests.bot.harness import HASTE, BotHarness, bot_inside, open_harness
from tests.kit.clock import moment
from tests.kit.waiting import until

ADDRESS = "sam@getacme.example"
PAUSED = {"event": "domain.paused", "domain": "getacme.example", "reason": "bounce_rate", "rate": 0.083}


def inbox_body(health: float, limit: int, status: str, *, address: str = ADDRESS) -> dict[str, Any]:
    """An inbox as the API tells it."""
    return {"id": address, "email": address, "health_score": health, "daily_limit": limit, "status": status}


def inbox(status: str | None, health: float | None = 90.0) -> Inbox:
    return Inbox(email=ADDRESS, health_score=health, daily_limit=40, status=status)


def stages(*days: tuple[Inbox, ...]) -> list[str]:
    """The stage at each look."""
    before: dict[str, Any] = {}
    found = []
    for inboxes in days:
        before = domains.domain_state(inboxes, before=before, thresholds=DEFAULT)
        found.append(str(before["stage"]))
    return found


def test_a_domain_rests_sends_again_and_recovers() -> None:
    rests, warms, well = inbox("resting"), inbox("warming"), inbox("active")
    assert stages((rests,), (rests, warms), (warms,), (warms, well), (well,)) == [
        "", "", "sending", "sending", "recovered",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "seen", [inbox("active", 50.0), inbox("active", None), inbox(None), inbox("warming")]
)
def test_a_domain_is_not_well_again_before_all_of_it_is_known_to_be(seen: Inbox) -> None:
    assert stages((inbox("resting"),), (seen,))[-1] == "sending"


def test_a_late_report_of_resting_inboxes_is_no_recovery() -> None:
    assert stages((inbox("active"),), (inbox("resting"),), (inbox("active"),)) == ["", "", "recovered"]
    assert stages((inbox("active", 62.0),), (inbox("active", 62.0),)) == ["", ""]
    assert stages((), ()) == ["", ""]


@pytest.fixture
async def bot(tmp_path: Path, remote: Remote) -> AsyncIterator[BotHarness]:
    async with open_harness(tmp_path, OUTREACH_BASE_URL=remote.url) as opened:
        yield opened


async def test_the_bot_keeps_how_things_stand_where_no_dashboard_does(
    bot: BotHarness, remote: Remote
) -> None:
    remote.inboxes = [inbox_body(84, 40, "active")]
    settings = shared_settings.load(environ=bot.environ)

    async with (
        open_store(settings.database) as store,
        open_contexts(settings, store) as contexts,
        History(settings.history_database, thresholds=DEFAULT) as history,
    ):
        memory = HistorySampler(contexts, history)
        await memory.sample()
        remote.refuses = 401
        await memory.sample()
        now = moment()
        kept = await history.health("default", kind="inbox", key=ADDRESS, start=now, end=now, points=1)
    assert [sample.value for sample in kept] == [84]


@pytest.mark.e2e
async def test_the_sandboxs_own_domain_is_followed_from_its_pause_to_its_recovery(tmp_path: Path) -> None:
    async with Service(speed=0) as service:
        key = next(iter(service.api_keys.values()))
        where = {"OUTREACH_BASE_URL": service.base_url, "OUTREACH_API_KEY": key}
        async with open_harness(tmp_path, **where) as bot, bot_inside(bot, pace=HASTE):

            async def control(method: str, path: str, **body: Any) -> None:
                async with bot.http.request(method, f"{service.control_url}{path}", json=body) as answer:
                    assert answer.status < 300, await answer.text()

            async def until_shown(*words: str) -> None:
                async def there() -> bool:
                    for verb in ("pause", "resume"):  # whatever is changed has the bot look
                        await bot.say(f"{verb} {name}", user=seed.BEN.id, channel=seed.SALES)
                    found = [json.dumps(one, ensure_ascii=False) for one in await bot.messages()]
                    return any(all(word in one for word in words) for one in found)

                await until(there)

            (listed,) = await bot.say("sequences active", channel=seed.SALES)
            name = next(block for block in listed["blocks"] if block["type"] == "data_table")["rows"][1][-1][
                "text"
            ]
            await control("POST", "/events", kind="domain.paused", domain="getacme.example")
            assert await bot.deliver(json.dumps(PAUSED).encode()) == 200
            await until_shown("getacme.example is paused", "resting")
            await control("POST", "/time", advance=15 * 3_600)
            await until_shown("getacme.example is sending again", "warming")
            await until_shown("getacme.example is sending again: After")
