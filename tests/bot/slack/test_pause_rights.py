"""Whether whoever added a rule may still pause."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.slack.pause_rights import PauseRights
from bot.slack.web_api import open_web_api
from shared.settings import Roles

TEAM = "T001"


@asynccontextmanager
async def slack_with(users: Mapping[str, Mapping[str, Any]]) -> AsyncIterator[str]:
    """The address of a Slack of these users."""

    async def answer(request: web.Request) -> web.Response:
        user = {"team_id": TEAM, **users.get(request.query.get("user", ""), {})}
        return web.json_response({"ok": True, "team_id": TEAM, "user": user})

    application = web.Application()
    application.router.add_route("*", "/api/{method}", answer)
    async with TestServer(application) as server:
        yield str(server.make_url("/api/"))


@pytest.mark.parametrize(
    ("user", "expected"), [({}, True), ({"is_restricted": True}, False), ({"deleted": True}, False)]
)
async def test_guests_and_deactivated_people_may_no_longer_pause(
    *, user: Mapping[str, Any], expected: bool
) -> None:
    async with slack_with({"U001": user}) as url, open_web_api("xoxb-1", base_url=url) as slack:
        assert await PauseRights(slack, Roles())("U001", "C1") is expected


async def test_a_deactivated_person_may_not_pause_even_if_listed_in_the_settings() -> None:
    async with slack_with({"U001": {"deleted": True}}) as url, open_web_api("xoxb-1", base_url=url) as slack:
        assert not await PauseRights(slack, Roles(operator=frozenset({"U001"})))("U001", "C1")
