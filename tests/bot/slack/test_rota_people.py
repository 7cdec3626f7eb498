"""The people in rotas: their names, and who is no member any more; who isn't known can take turns."""

from __future__ import annotations

import aiohttp

from bot.slack.rota_people import RotaPeople
from bot.slack.web_api import open_web_api
from sandbox.slack import seed
from sandbox.slack.server import SlackStandIn

ANN, BEN, GUS = seed.ANN.id, seed.BEN.id, seed.GUS.id
PEOPLE = (ANN, BEN, GUS, "U0NOBODY99")


async def test_who_is_deactivated_or_a_guest_gets_no_turn_once_slack_said_so() -> None:
    async with SlackStandIn(0) as slack, aiohttp.ClientSession() as http:
        body = {"user": ANN, "deleted": True}
        async with http.post(f"{slack.origin}/control/user", json=body) as answer:
            assert (await answer.json())["ok"]
        token, url = (slack.announcement[f"slack_{name}"] for name in ("bot_token", "api_url"))
        async with open_web_api(token, base_url=url) as api:
            people = RotaPeople(api, PEOPLE)
            assert [people.is_gone(one) for one in PEOPLE] == [False] * 4
            assert people.name(BEN) == ""
            await people.refresh()
            assert [people.is_gone(one) for one in PEOPLE] == [True, False, True, False]
            assert [people.name(one) for one in (BEN, "U0NOBODY99")] == ["ben", ""]
