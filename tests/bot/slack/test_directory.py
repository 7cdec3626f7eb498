"""Identifying people by whatever Slack returns."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.slack.directory import RotaPeople, UserDirectory, Viewer, may_still_pause
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


async def test_a_person_without_details_is_not_a_member(slack: Slack) -> None:
    async with slack({"ok": True}) as people:
        found = await people.find("U1")
    assert (found.id, found.name, found.is_member, found.is_admin) == ("U1", "U1", False, False)


async def test_a_guest_is_recognized_by_any_field(slack: Slack) -> None:
    async with slack({"ok": True, "user": {"is_restricted": True}}) as people:
        assert not (await people.find("U1")).is_member


async def test_a_person_whom_slack_does_not_know_may_change_nothing(slack: Slack) -> None:
    async with slack({"ok": False, "error": "user_not_found"}) as people:
        found = await people.find("U1", name="ann")
    assert (found.name, found.is_known, found.is_member) == ("ann", False, False)


@pytest.mark.parametrize("read", [UserDirectory.own_id, lambda people: people.channel_name("C1")])
async def test_fields_that_slack_omits_are_empty(
    slack: Slack, read: Callable[[UserDirectory], Awaitable[str]]
) -> None:
    async with slack({"ok": True}) as people:
        assert await read(people) == ""
        assert await people.permalink("C1", "1.2") == ""


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


async def test_who_is_deactivated_gets_no_turn_once_slack_said_so(slack: Slack) -> None:
    async with slack(
        {"ok": True, "team_id": "T1", "user": {"team_id": "T1", "name": "ann", "deleted": True}}
    ) as who:
        people = RotaPeople(who, ["U1"])
        assert not people.is_gone("U1")
        await people.refresh()
        assert people.is_gone("U1")
        assert people.name("U1") == "ann"


async def test_a_channel_whose_name_is_unknown_is_named_by_its_id(slack: Slack) -> None:
    async with slack({"ok": True}) as people:
        assert people.known_name("C0123") == "Channel C0123"
