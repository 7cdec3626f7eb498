"""Response addresses: five uses, half an hour, and the only hand on an ephemeral."""

from __future__ import annotations

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.slack import seed
from tests.sandbox.slack.driver import Json, Person, actions, button


@pytest.fixture
async def url(person: Person) -> str:
    """The response address of a command to which nobody answered."""
    done = await person.do("command", text="/outreach status")
    return str(done["response_url"])


async def post(session: aiohttp.ClientSession, url: str, **body: object) -> tuple[int, str]:
    async with session.post(url, json=body) as response:
        return response.status, await response.text()


async def latest(person: Person) -> Json:
    found = (await person.see("messages", channel=seed.ALERTS))["messages"]
    return dict(found[-1])


async def test_the_sixth_use_is_refused(session: aiohttp.ClientSession, url: str) -> None:
    # Slack: up to five times within 30 minutes of the command.
    for number in range(5):
        assert await post(session, url, text=f"{number}") == (200, "ok")
    status, text = await post(session, url, text="6")
    assert (status, "used_url" in text) == (404, True)


async def test_answers_come_one_a_second_too(
    session: aiohttp.ClientSession, person: Person, url: str
) -> None:
    await person.do("settings", answers_burst=2)
    assert [(await post(session, url, text="x"))[0] for _ in range(2)] == [200, 200]
    async with session.post(url, json={"text": "x"}) as response:
        assert (response.status, response.headers["Retry-After"]) == (429, "1")
    await person.do("clock", advance=1)
    assert (await post(session, url, text="a refused answer does not use up the address"))[0] == 200


async def test_after_half_an_hour_it_is_refused(
    session: aiohttp.ClientSession, person: Person, url: str
) -> None:
    # Thirty minutes but for a second.
    await person.do("clock", advance=1799)
    assert (await post(session, url, text="just in time"))[0] == 200
    await person.do("clock", advance=2)
    status, text = await post(session, url, text="too late")
    assert (status, "expired_url" in text) == (404, True)


async def test_an_ephemeral_is_changed_and_deleted_through_its_own_address(
    session: aiohttp.ClientSession, person: Person, url: str
) -> None:
    card = [actions(button("a", "A"))]
    await post(session, url, text="choose", blocks=card)
    shown = await latest(person)
    clicked = await person.do("click", ts=shown["ts"], text="A")
    await post(session, clicked["response_url"], text="beside it", replace_original=False)
    await post(session, clicked["response_url"], text="chosen", replace_original=True)
    found = (await person.see("messages", channel=seed.ALERTS))["messages"]
    assert [one["text"] for one in found if one["by_app"]] == ["chosen", "beside it"]
    await post(session, clicked["response_url"], delete_original=True)
    found = (await person.see("messages", channel=seed.ALERTS))["messages"]
    assert [one["text"] for one in found if one["by_app"]] == ["beside it"]


async def test_after_a_command_nothing_is_replaced_or_deleted(
    session: aiohttp.ClientSession, person: Person, url: str
) -> None:
    await post(session, url, text="first")
    assert await post(session, url, text="second", replace_original=True) == (200, "ok")
    assert await post(session, url, text="third", delete_original=True) == (200, "ok")
    assert (await post(session, url, delete_original=True))[0] == 400
    found = (await person.see("messages", channel=seed.ALERTS))["messages"]
    assert [one["text"] for one in found if one["by_app"]] == ["first", "second", "third"]


async def test_a_click_in_a_thread_is_answered_there_only_when_the_thread_is_named(
    session: aiohttp.ClientSession, client: AsyncWebClient, person: Person
) -> None:
    root = (await client.chat_postMessage(channel=seed.ALERTS, text="root"))["ts"]
    card = [actions(button("a", "A"))]
    reply = await client.chat_postMessage(channel=seed.ALERTS, text="reply", thread_ts=root, blocks=card)
    clicked = await person.do("click", ts=reply["ts"], text="A")
    for thread in ({}, {"thread_ts": root}):
        await post(session, clicked["response_url"], text="answer", replace_original=False, **thread)
        assert (await latest(person)).get("thread_ts") == thread.get("thread_ts")
