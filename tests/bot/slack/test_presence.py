"""Who is away, by Do Not Disturb, status and hours; what Slack doesn't tell counts as present."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime, time
from typing import Any

import aiohttp
import pytest

from bot.slack.presence import KNOWN_SECONDS, Presence
from bot.slack.web_api import open_web_api
from sandbox.slack import seed
from sandbox.slack.server import SlackStandIn
from shared.domain.rota import Rota, WorkHours

ANN, BEN, GUS = seed.ANN.id, seed.BEN.id, seed.GUS.id
ROTA = Rota(name="routes", people=(ANN, BEN))
NOW = datetime(2026, 11, 20, 9, tzinfo=UTC).timestamp()
PEOPLE = (ANN, BEN, GUS)


class Here:
    """A stand-in, a bot's look at it, and a clock that the test moves."""

    def __init__(self, slack: SlackStandIn, http: aiohttp.ClientSession, presence: Presence) -> None:
        self.slack, self.http, self.presence, self.now = slack, http, presence, 0.0

    async def control(self, act: str, **body: Any) -> None:
        async with self.http.post(f"{self.slack.origin}/control/{act}", json=body) as answer:
            assert (await answer.json())["ok"]

    def why(self, person: str, *, at: float = NOW, rota: Rota = ROTA) -> str:
        return self.presence.why_away(person, rota, at)


@pytest.fixture
async def here() -> AsyncIterator[Here]:
    async with AsyncExitStack() as stack:
        slack = await stack.enter_async_context(SlackStandIn(0))
        http = await stack.enter_async_context(aiohttp.ClientSession())
        token, url = (slack.announcement[f"slack_{name}"] for name in ("bot_token", "api_url"))
        api = await stack.enter_async_context(open_web_api(token, base_url=url))
        found = Here(slack, http, Presence(api, PEOPLE, clock=lambda: found.now))
        yield found


async def test_people_are_there_before_slack_was_asked(here: Here) -> None:
    assert [here.why(person) for person in PEOPLE] == ["", "", ""]
    assert here.presence.name(ANN) == ""


async def test_do_not_disturb_holds_from_its_begin_to_its_end(here: Here) -> None:
    await here.control("user", user=ANN, dnd_start=int(NOW), dnd_end=int(NOW) + 3600)
    await here.presence.refresh()
    moments = (NOW - 1, NOW, NOW + 3599, NOW + 3600)
    assert [here.why(ANN, at=at) for at in moments] == ["", "do not disturb", "do not disturb", ""]
    assert here.why(BEN) == ""
    assert here.presence.name(BEN) == "ben"


async def test_a_status_says_away_until_it_expires(here: Here) -> None:
    ends = int(here.slack.workspace.clock.now()) + 3600
    await here.control("user", user=ANN, status_emoji=":palm_tree:", status_expiration=ends)
    await here.control("user", user=BEN, status_emoji=":coffee:")
    await here.presence.refresh()
    assert here.why(ANN, at=ends - 1) == "status :palm_tree:"
    assert here.why(ANN, at=ends) == ""
    assert here.why(BEN) == ""
    assert here.why(BEN, rota=replace(ROTA, away_status=(":coffee:",))) == "status :coffee:"


async def test_hours_are_compared_in_the_zone_of_the_profile(here: Here) -> None:
    await here.control("user", user=BEN, tz="America/New_York")
    await here.presence.refresh()
    rota = replace(ROTA, hours=WorkHours(start=time(9), end=time(18)))
    assert here.why(ANN, rota=rota) == ""
    assert here.why(BEN, rota=rota) == "outside their hours"


async def test_who_is_deactivated_or_a_guest_gets_no_turn(here: Here) -> None:
    await here.control("user", user=ANN, deleted=True)
    await here.presence.refresh()
    assert (here.why(ANN), here.why(GUS)) == ("deactivated", "not a member")


@pytest.mark.parametrize("kind", ["error", "status", "garbage", "cut"])
async def test_a_look_that_fails_leaves_what_was_known_for_a_while(here: Here, kind: str) -> None:
    await here.control("user", user=ANN, status_emoji=":palm_tree:")
    await here.control("user", user=BEN, dnd_start=int(NOW), dnd_end=int(NOW) + 360_000)
    await here.presence.refresh()
    fault = {"kind": kind, "times": 100, **({"error": "fatal_error"} if kind == "error" else {})}
    fault |= {"status": 503} if kind == "status" else {}
    for method in ("dnd.teamInfo", "users.info"):
        await here.control("faults", method=method, **fault)
    here.now = KNOWN_SECONDS
    await here.presence.refresh()
    assert (here.why(ANN), here.why(BEN)) == ("status :palm_tree:", "do not disturb")
    here.now = KNOWN_SECONDS + 1
    assert (here.why(ANN), here.why(BEN)) == ("", "")


async def test_one_unknown_person_hides_nobody_elses_do_not_disturb(here: Here) -> None:
    await here.control("user", user=ANN, dnd_start=int(NOW), dnd_end=int(NOW) + 3600)
    presence = Presence(here.presence._slack, (ANN, "U0NOBODY99"))
    await presence.refresh()
    assert presence.why_away(ANN, ROTA, NOW) == "do not disturb"
    assert presence.why_away("U0NOBODY99", ROTA, NOW) == ""


async def test_without_the_scope_nobody_is_disturbed(here: Here) -> None:
    await here.control("scopes", remove=["dnd:read"])
    await here.control("user", user=ANN, dnd_start=int(NOW), dnd_end=int(NOW) + 3600)
    await here.presence.refresh()
    assert here.why(ANN) == ""
