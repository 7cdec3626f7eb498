"""The verdict, and what a wall says, through a whole crisis of the sandbox, against the truth of its database."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from typing import Any

import aiohttp
import pytest

from sandbox.service import Service
from shared.api import OutreachClient
from shared.domain.card import Tone
from shared.domain.health import WORST_FIRST
from shared.domain.snapshot import SOURCES, Snapshot, refresh
from shared.domain.workspace_verdict import WorkspaceVerdict
from tests.severity import severity
from tests.tui.accounts import NOW, Clock, acme, tick_of
from tui.app.dashboard import DashboardApp
from tui.screens.wall import WallPage

# Hours until the next look: through the crisis, to its end, and on until all domains have rested and warmed up.
STEPS = (*[2] * 12, *[12] * 12)
ALL_PAUSED_AFTER = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What was said at a moment, and what was so."""

    paused: frozenset[str]
    domains: int
    verdict: WorkspaceVerdict
    wall: str
    is_lit: bool
    """The trouble stands in a block across the wall."""


async def moments() -> list[Moment]:
    clock, seen = Clock(), []
    app = DashboardApp([acme()], now=clock, wall=True)
    async with (
        Service(port=0, scenario="deliverability-crisis", speed=0) as service,
        aiohttp.ClientSession() as http,
        OutreachClient(base_url=service.base_url, api_key=service.api_keys["acme"]) as client,
        app.run_test(size=(160, 50)) as pilot,
    ):

        async def control(path: str, **body: Any) -> None:
            async with http.post(f"{service.control_url}/{path}", json=body) as answer:
                answer.raise_for_status()

        async def look() -> None:
            async with http.get(f"{service.control_url}/state") as answer:
                domains = (await answer.json())["domains"]
            states = {one["name"]: one["state"] for one in domains if "globex" not in one["name"]}
            read = await refresh(Snapshot(workspace="acme"), SOURCES["inboxes"], client, now=clock())
            app.post_message(app.Ticked(tick_of(read)))
            await pilot.pause()
            page = app.page
            assert isinstance(page, WallPage)
            seen.append(
                Moment(
                    paused=frozenset(name for name, state in states.items() if state == "paused"),
                    domains=len(states),
                    verdict=app.frame.board.verdict,
                    wall=page.head.verdict.plain,
                    is_lit=bool(page.trouble.display and page.trouble.plain),
                )
            )

        await look()
        for number, hours in enumerate(STEPS):
            if number == ALL_PAUSED_AFTER:
                await control("events", workspace="acme", kind="domain.paused", count=20)
                await look()
            await control("time", advance=hours * 3600)
            clock.advance(hours * 3600)
            await look()
    assert clock() - NOW == timedelta(hours=sum(STEPS))
    return seen


@pytest.mark.e2e
async def test_the_verdict_never_says_better_when_it_is_worse() -> None:
    seen = await moments()
    assert max(len(moment.paused) for moment in seen) == seen[0].domains, "all were paused at once"
    assert not seen[-1].paused, "and all have recovered"
    for moment in seen:
        assert moment.verdict.paused_domains == len(moment.paused), moment
        if moment.paused:
            assert moment.verdict.tone is Tone.BAD, moment
            assert moment.is_lit, moment
            counted = f"{len(moment.paused)} of" if len(moment.paused) < moment.domains else "All"
            for words in (f"{counted} {moment.domains} domains paused", "since", "alarm"):
                assert words in moment.wall, moment
        else:
            assert "paused" not in moment.wall, moment
        assert sum(moment.verdict.counts.values()) == sum(seen[0].verdict.counts.values()), moment
    for before, after in pairwise(seen):
        if before.paused < after.paused:
            assert severity(after.verdict) > severity(before.verdict), (before, after)
            assert WORST_FIRST.index(after.verdict.tone) <= WORST_FIRST.index(before.verdict.tone)
