"""Identifying people by whatever Slack returns."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.slack.directory import UserDirectory, Viewer, may_still_pause
from bot.slack.web_api import open_web_api
from shared.settings import Roles

ANN = "U0ANN00001"
Slack = Callable[[dict[str, Any]], AbstractAsyncContextManager[UserDirectory]]


@pytest.fixture
def slack() -> Slack:
    """A Slack that gives one answer to everything."""

    @asynccontextmanager
    async def answering(answer: dict[str, Any]) -> AsyncIterator[UserDirectory]:
        async def answered(_request: web.Request) -> web.Response:
            return web.json_response(answer)

        application = web.Application()
        application.router.add_route("*", "/api/{method}", answered)
        async with (
            TestServer(application) as server,
            open_web_api("xoxb-1", base_url=str(server.make_url("/api/"))) as slack,
        ):
            yield UserDirectory(slack)

    return answering


async def test_who_leaves_a_private_channel_stops_seeing_it_within_a_minute() -> None:
    members, now = {"U1"}, [0.0]

    async def answered(request: web.Request) -> web.Response:
        if request.match_info["method"] == "conversations.info":
            return web.json_response({"ok": True, "channel": {"name": "board", "is_private": True}})
        mine = [{"id": "G1", "name": "board"}] if request.query["user"] in members else []
        return web.json_response({"ok": True, "channels": mine})

    application = web.Application()
    application.router.add_route("*", "/api/{method}", answered)
    async with (
        TestServer(application) as server,
        open_web_api("xoxb-1", base_url=str(server.make_url("/api/"))) as api,
    ):
        people, ann = UserDirectory(api, clock=lambda: now[0]), Viewer(user="U1", channel="C1")
        assert await people.sees("G1", ann)
        assert not await people.sees("G1", Viewer(user="U2", channel="C1"))
        assert await people.sees("G1", Viewer(channel="G1"))
        assert await people.shown_name("G1", Viewer(channel="C1")) == "a private channel"
        members.clear()
        now[0] = 61.0
        assert not await people.sees("G1", ann)


@pytest.mark.parametrize(
    ("user", "expected"), [({}, True), ({"is_restricted": True}, False), ({"deleted": True}, False)]
)
async def test_guests_and_deactivated_people_may_no_longer_pause(
    slack: Slack, *, user: dict[str, Any], expected: bool
) -> None:
    async with slack({"ok": True, "team_id": "T1", "user": {"team_id": "T1", **user}}) as people:
        assert await may_still_pause(people, Roles(), ANN, "C1") is expected
        rules = Roles(operator=frozenset({ANN}))
        assert await may_still_pause(people, rules, ANN, "C1") is ("deleted" not in user)
