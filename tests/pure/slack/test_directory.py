"""Identifying people by whatever Slack returns."""

from __future__ import annotations

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.slack import directory
from bot.slack.directory import UserDirectory, everybody
from bot.slack.web_api import open_web_api
from shared.records import Actor
from shared.settings import SlackSettings


async def test_who_leaves_a_private_channel_stops_seeing_it_within_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    members, now, fails = {"U1"}, [0.0], list[str]()
    monkeypatch.setattr(directory, "boot_time", lambda: now[0])

    async def answered(request: web.Request) -> web.Response:
        if fails:
            return web.json_response({"ok": False, "error": fails[-1]})
        if request.match_info["method"] == "conversations.info":
            return web.json_response({"ok": True, "channel": {"name": "board", "is_private": True}})
        mine = [{"id": "G1", "name": "board"}] if request.query["user"] in members else []
        return web.json_response({"ok": True, "channels": mine})

    application = web.Application()
    application.router.add_route("*", "/api/{method}", answered)
    async with (
        TestServer(application) as server,
        open_web_api(SlackSettings(api_url=str(server.make_url("/api/")))) as api,
    ):
        people, ann = UserDirectory(api), Actor(name="ann", id="U1", channel="C1")
        assert await people.sees("G1", ann)
        assert not await people.sees("G1", Actor(name="ben", id="U2", channel="C1"))
        assert await people.sees("G1", everybody("G1"))
        assert await people.shown_name("G1", everybody("C1")) == "a private channel"
        members.clear()
        now[0] = 61.0
        assert not await people.sees("G1", ann)
        fails.append("fatal_error")
        for age, name in ((3599.0, "a private channel"), (3600.0, "")):
            now[0] = age
            assert await people.shown_name("G1", everybody("C1")) == name, (
                "what was read last holds for an hour"
            )
