"""The feed of the real dashboard tells of guardrails: those that have fired, and the rules of the settings."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sandbox.service import Service
from shared import settings as shared_settings
from shared.api import OutreachClient
from shared.commands import invocation
from shared.commands.base import Result
from shared.commands.guardrails import Guard
from shared.records.guardrails import Incident
from shared.settings import Settings
from shared.store.history import Records
from tests.kit.clock import moment
from tests.shared.harness import result_of
from tests.tui.commanded import own_records
from tui.feed.poller import Tick
from tui.feed.startup import ServiceFeed

RULE = '[[guardrails]]\nname = "quiet"\nrule = "notify about domain when health < 40"\n'


def incident(*, began_at: float, number: int, ended_at: float | None = None, rule: str = "quiet") -> Incident:
    return Incident(
        id=number,
        workspace="default",
        rule=rule,
        sentence="notify about domain when health < 40",
        action="tell",
        subject="useacme.example",
        label="useacme.example",
        began_at=began_at,
        held_at=began_at,
        ended_at=ended_at,
        note="health 31",
    )


async def test_the_board_says_which_rule_has_fired_and_the_settings_rules_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = moment().timestamp()
    over = incident(began_at=now - 900, number=1, ended_at=now - 600, rule="over")

    async def fired(*_: object) -> list[Incident]:
        return [over, incident(began_at=now - 60, number=2)]

    @asynccontextmanager
    async def open_records(_: Settings) -> AsyncIterator[Records]:
        async with own_records(moment) as records:
            monkeypatch.setattr(type(records.guardrails), "incidents", fired)
            yield records

    (tmp_path / "outreach.toml").write_text(RULE)
    heard: asyncio.Queue[Tick | Exception] = asyncio.Queue()
    async with Service(speed=0) as service:
        environ = {
            "OUTREACH_BASE_URL": service.base_url,
            "OUTREACH_API_KEY": service.api_keys["acme"],
            "XDG_STATE_HOME": str(tmp_path),
        }
        settings = shared_settings.load(config=tmp_path / "outreach.toml", environ=environ)
        feed = ServiceFeed(
            settings,
            workspace="default",
            open_records=open_records,
            now=moment,
        )
        feed.start(heard.put_nowait, heard.put_nowait)
        try:
            async with asyncio.timeout(60):
                card = result_of(await feed.run(invocation(Guard())))
                sends = await feed.sent_today()
                # At night and on a Sunday no inbox has sent anything, and the service has no row.
                async with OutreachClient(
                    base_url=service.base_url, api_key=service.api_keys["acme"]
                ) as client:
                    today = moment().date()
                    rows = await client.stats(group_by="inbox", start=today, end=today)
                rules: list[str] = []
                while not rules:
                    tick = await heard.get()
                    assert isinstance(tick, Tick), tick
                    rules = [one.rule for one in tick.board.conditions if one.rule]
        finally:
            await feed.aclose()
    assert sends == {row.group: row.sends for row in rows}
    assert rules == ["quiet"]
    assert isinstance(card, Result)
    assert card.rows
    assert "quiet" in {row["name"] for row in card.rows}
