"""Who may look at the dashboard in browsers, and in which role."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from multidict import CIMultiDict

from shared.commands.result import Problem, Result
from shared.domain.card import Button, Card, Fact, Row, Table, Tone, Typed, columns, number
from shared.operations.context import CommandContext
from shared.records.audit import Actor
from tests.tui.accounts import NOW, account, failing, tick_of
from tui.entrypoints.web import TITLE, Titles
from tui.entrypoints.web_access import (
    COOKIE,
    FILE,
    PERSON,
    SIGN_IN,
    SIGN_OUT,
    Access,
    OneTimeToken,
    Sessions,
    WebOptions,
)
from tui.feed.plain_results import from_plain, to_plain
from tui.feed.startup import ServiceFeed
from tui.system.fast_start import StartSettings

if TYPE_CHECKING:
    from shared.api import OutreachClient
    from shared.settings import Settings, Workspace

PORT = 8014
PEOPLE = {"ann": "operator", "ben@example.com": "viewer"}


class Door:
    """A server behind `Access` that tells who looks."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.time = NOW.timestamp()
        self.options = WebOptions(**options)
        self.links = {one.name: OneTimeToken(lambda _: None) for one in self.options.owners}
        self.ended: list[str] = []
        seconds = self.options.session_hours * 3600
        self.sessions = Sessions(folder, seconds=seconds, now=lambda: self.time)
        self.access = Access(
            self.options, sessions=self.sessions, links=self.links, port=PORT, ended=self.ended.append
        )

    @asynccontextmanager
    async def open(self) -> AsyncIterator[tuple[aiohttp.ClientSession, str]]:
        async def tell(request: web.Request) -> web.Response:
            person = request[PERSON]
            return web.Response(text=f"{person.name} {person.role}")

        app = web.Application(middlewares=[self.access.middleware])
        app.add_routes([web.get("/", tell), web.get("/ws", tell)])
        app.add_routes([web.post(SIGN_IN, self.access.sign_in), web.post(SIGN_OUT, self.access.sign_out)])
        async with (
            TestServer(app) as server,
            aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as http,
        ):
            yield http, str(server.make_url("")).rstrip("/")


async def get(http: aiohttp.ClientSession, address: str, **headers: str) -> tuple[int, str]:
    async with http.get(address, headers=headers) as answer:
        return answer.status, await answer.text()


async def test_a_trusted_proxy_names_the_person_whose_role_the_settings_tell(tmp_path: Path) -> None:
    async with Door(tmp_path, people=PEOPLE, trusted_proxies=("127.0.0.0/8",)).open() as (http, address):
        assert await get(http, address, **{"X-Forwarded-User": "ann"}) == (200, "ann operator")
        assert await get(http, address, **{"X-Forwarded-User": "ben@example.com"}) == (
            200,
            "ben@example.com viewer",
        )
        assert await get(http, address, **{"X-Forwarded-User": "guest"}) == (200, "guest viewer")
        for odd in ("ann; rm -rf", "ann ben", "--operator", "é", "x" * 65):
            assert (await get(http, address, **{"X-Forwarded-User": odd}))[0] == 403, odd
        both = CIMultiDict([("X-Forwarded-User", "ann"), ("X-Forwarded-User", "guest")])
        async with http.get(address, headers=both) as answer:
            assert answer.status == 403, "the first may come from outside"
        assert (await get(http, f"{address}/ws"))[0] == 403, "a proxy that names nobody opens nothing"


@pytest.mark.parametrize("trusted", [(), ("10.0.0.0/8",), ("127.0.0.2", "::1")])
async def test_the_name_that_anybody_else_tells_is_ignored(tmp_path: Path, trusted: tuple[str, ...]) -> None:
    async with Door(tmp_path, people=PEOPLE, trusted_proxies=trusted).open() as (http, address):
        named = {"X-Forwarded-User": "ann", "X-Forwarded-For": "10.0.0.1", "X-Real-IP": "10.0.0.1"}
        assert (await get(http, address, **named))[0] == 403


async def test_each_person_has_a_link_which_opens_one_browser(tmp_path: Path) -> None:
    door = Door(tmp_path, people=PEOPLE)
    link = door.links["ann"].token
    async with door.open() as (http, address), aiohttp.ClientSession() as stranger:
        assert await get(http, f"{address}/?token={link}") == (200, "ann operator")
        assert await get(http, address) == (200, "ann operator")
        status, page = await get(stranger, f"{address}/?token={link}")
        assert status == 403
        assert "This link has been used" in page
    again = Door(tmp_path, people={"ben@example.com": "viewer"})
    token = again.sessions.begin("ann")
    async with again.open() as (http, address):
        cookie = {"Cookie": f"{COOKIE}-{PORT}={token}"}
        assert (await get(http, address, **cookie))[0] == 403, "who left the settings is out"


async def test_the_form_takes_a_pasted_link_and_its_page_fits_a_phone(tmp_path: Path) -> None:
    door = Door(tmp_path)
    async with door.open() as (http, address):
        status, page = await get(http, address)
        assert status == 403
        assert 'name="viewport" content="width=device-width' in page
        async with http.post(f"{address}{SIGN_IN}", data={"link": "<script>alert(1)</script>"}) as answer:
            assert answer.status == 403
            assert "<script" not in await answer.text()
        pasted = f" http://127.0.0.1:8014/?token={door.links[''].token}&fontsize=20 "
        async with http.post(f"{address}{SIGN_IN}", data={"link": pasted}) as answer:
            assert (answer.status, await answer.text()) == (200, " viewer")


async def test_a_session_lasts_a_day_and_its_cookie_is_for_this_site_alone(tmp_path: Path) -> None:
    door = Door(tmp_path, people=PEOPLE, trusted_proxies=("127.0.0.1",))
    async with door.open() as (http, address):
        link = f"{address}/?token={door.links['ann'].token}"
        async with http.get(link, allow_redirects=False) as answer:
            cookie = answer.cookies[f"{COOKIE}-{PORT}"]
        assert (cookie["max-age"], cookie["httponly"], cookie["samesite"]) == ("86400", True, "Strict")
        assert not cookie["secure"]
        link = f"{address}/?token={door.links['ann'].token}"
        async with http.get(link, allow_redirects=False, headers={"X-Forwarded-Proto": "https"}) as answer:
            assert answer.status == 303, "who is signed in needs no other session"
        http.cookie_jar.clear()
        async with http.get(link, allow_redirects=False, headers={"X-Forwarded-Proto": "https"}) as answer:
            cookie = answer.cookies[f"{COOKIE}-{PORT}"]
        assert cookie["secure"]
        signed = {"Cookie": f"{COOKIE}-{PORT}={cookie.value}"}
        door.time += 86_399
        assert (await get(http, address, **signed))[0] == 200
        door.time += 1
        assert (await get(http, address, **signed))[0] == 403


async def test_signing_out_ends_the_session_and_its_pages(tmp_path: Path) -> None:
    door = Door(tmp_path, people=PEOPLE)
    async with door.open() as (http, address):
        assert (await get(http, f"{address}/?token={door.links['ann'].token}"))[0] == 200
        (kept,) = http.cookie_jar
        async with http.post(f"{address}{SIGN_OUT}") as answer:
            assert answer.status == 403
            assert "Sign in" in await answer.text()
        assert len(door.ended) == 1
        stolen = {"Cookie": f"{COOKIE}-{PORT}={kept.value}"}
        assert (await get(http, address, **stolen))[0] == 403, "the cookie alone is worth nothing then"


def test_sessions_outlive_a_restart_in_a_file_that_holds_no_token(tmp_path: Path) -> None:
    time = [NOW.timestamp()]

    def opened() -> Sessions:
        return Sessions(tmp_path, seconds=3600, now=lambda: time[0])

    token = opened().begin("ann")
    path = tmp_path / FILE
    assert path.stat().st_mode & 0o777 == 0o600
    assert token not in path.read_text()
    found = opened().find(token)
    assert found
    assert found.name == "ann"
    time[0] -= 7200
    assert opened().find(token) is None, "a clock that was set back makes no session longer"
    time[0] += 7200 + 3600
    opened().begin("ben")
    assert [one["name"] for one in json.loads(path.read_text())] == ["ben"], "what has ended is dropped"
    path.write_text('[{"key": 1}]')
    assert opened().find(token) is None


def test_the_title_tells_the_worst_verdict_and_a_service_that_fails() -> None:
    told: list[str] = []
    titles = Titles()
    titles.changed = told.append
    assert titles.text == TITLE
    whole = account()
    titles.put("acme", tick_of(whole, beats=0))
    assert titles.text == TITLE, "what was kept isn't the present"
    titles.put("acme", tick_of(whole))
    assert told == ["◆ 1 of 4 domains paused · 6 of 24 inboxes not sending · 6 at risk · Outreach"]
    titles.put("acme", tick_of(whole))
    titles.put("globex", tick_of(failing(whole, since=NOW + timedelta(minutes=1))))
    titles.put("acme", tick_of(account(inboxes=0)))
    assert told[-1] == "◆ globex: The outreach service can't be reached · Outreach"
    assert len(told) == len({*told})


def test_a_result_arrives_at_a_viewer_as_it_was_shown() -> None:
    table = Table(
        columns=columns("Who", number("Sent")),
        rows=(Row(cells=("1", 2.5), tone=Tone.BAD), Row(cells=("b", None))),
    )
    card = Card(
        title="Paused", tone=Tone.WARN, text=("One.", "Two."), facts=(Fact(label="At", value="14:02", at=NOW),),
        quote="<b>", table=table, footer="end", buttons=(Button(label="Undo", action=Typed("resume sq_1")),),
    )  # fmt: skip
    result = Result(card=card, effect="paused", problem=Problem(text="no", argument="target"))
    assert from_plain(json.loads(json.dumps(to_plain(result)))) == result


async def test_an_operator_in_a_browser_may_not_do_what_only_admins_may(tmp_path: Path) -> None:
    start = StartSettings(workspace="acme", state=tmp_path, poll_seconds=30, section={}, has_bot=False)
    feed = ServiceFeed(
        lambda: cast("Settings", None), start_settings=start, open_records=None, now=lambda: NOW
    )
    place = cast("Workspace", SimpleNamespace(name="acme"))
    client = cast("OutreachClient", None)
    feed._context = CommandContext(
        workspace=place, client=client, actor=Actor(name="root"), records=None, now=lambda: NOW
    )
    feed._equipped.set()
    for line, problem in (("doctor", "not permitted"), ("paus", "")):
        result = await feed.run_for("ann", line)
        assert result.refused
        assert problem in (result.problem.text if result.problem else "")
    asked = await feed.run_for("ann", "whoami")
    assert "operator" in str(asked.card)
