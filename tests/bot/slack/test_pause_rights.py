"""Whether whoever added a rule may still pause, in one Slack workspace and in several."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.slack.directory import UserDirectory
from bot.slack.pause_rights import PauseRights
from bot.slack.web_api import SlackError, open_web_api
from shared.settings import Roles

TEAMS = {"xoxb-1": "T001", "xoxb-2": "T002"}
GROUP = "S0000001"


async def token_of(team: str) -> str:
    """Of the two Slack workspaces that installed the bot."""
    found = next((token for token, own in TEAMS.items() if own == team), None)
    if found is None:
        raise SlackError("team_not_installed", status=200)
    return found


@asynccontextmanager
async def slack_with(users: Mapping[str, Mapping[str, Any]]) -> AsyncIterator[str]:
    """The address of a Slack of these users, all of whose groups hold U001."""

    async def answer(request: web.Request) -> web.Response:
        team = TEAMS[request.headers["Authorization"].removeprefix("Bearer ")]
        user = {"team_id": team, **users.get(request.query.get("user", ""), {})}
        return web.json_response({"ok": True, "team_id": team, "user": user, "users": ["U001"]})

    application = web.Application()
    application.router.add_route("*", "/api/{method}", answer)
    async with TestServer(application) as server:
        yield str(server.make_url("/api/"))


@pytest.mark.parametrize(
    ("user", "expected"), [({}, True), ({"is_restricted": True}, False), ({"deleted": True}, False)]
)
@pytest.mark.parametrize("team", ["", "T002/"])
async def test_guests_and_deactivated_people_may_no_longer_pause(
    *, user: Mapping[str, Any], expected: bool, team: str
) -> None:
    async with slack_with({"U001": user}) as url:
        several: dict[str, Any] = {"token_of": token_of} if team else {}
        async with open_web_api("" if team else "xoxb-1", base_url=url, **several) as slack:
            permitted = await PauseRights(slack, Roles())(f"{team}U001", f"{team}C1")
    assert permitted is expected


async def test_a_deactivated_person_may_not_pause_even_if_listed_in_the_settings() -> None:
    async with slack_with({"U001": {"deleted": True}}) as url, open_web_api("xoxb-1", base_url=url) as slack:
        assert not await PauseRights(slack, Roles(operator=frozenset({"U001"})))("U001", "C1")


async def test_a_group_of_one_of_several_slack_workspaces_has_its_role_there() -> None:
    rules = Roles(operator=frozenset({f"T002/{GROUP}"}))
    async with (
        slack_with({}) as url,
        open_web_api("", base_url=url, token_of=token_of) as slack,
    ):
        own = await UserDirectory(slack.of_team("T002"), groups=rules.groups).find("T002/U001")
        other = await UserDirectory(slack.of_team("T001"), groups=rules.groups).find("T001/U001")
        assert await PauseRights(slack, rules)("T002/U001", "T002/C1")
    assert own.groups == {f"T002/{GROUP}"}
    assert not other.groups
