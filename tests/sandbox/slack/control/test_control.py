"""The dials and the reading half of the control API, faults among them."""

from __future__ import annotations

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.slack import seed
from sandbox.slack.server import SlackStandIn
from sandbox.slack.web_api.methods import METHODS
from tests.sandbox.slack.driver import Json, Person


async def test_a_manifest_says_what_the_app_listens_to(person: Person) -> None:
    taken = await person.do(
        "manifest",
        features={"slash_commands": [{"command": "/deploy", "description": "d"}]},
        settings={"event_subscriptions": {"bot_events": ["app_mention"]}},
        oauth_config={"scopes": {"bot": ["commands", "chat:write"]}},
    )
    assert taken["settings"]["scopes"] == ["chat:write", "commands"]
    assert taken["settings"]["events"] == ["app_mention"]
    await person.do("command", text="/outreach status", refused=True)
    assert (await person.do("command", text="/deploy"))["ack"]["error"] == "dispatch_failed"


async def test_state_has_everything_but_secrets(slack: SlackStandIn, person: Person) -> None:
    whole = await person.see("state")
    assert {user["name"] for user in whole["users"]} >= {"ann", "ben", "cleo", "dev", "gus", "eva"}
    text = repr(whole) + repr(await person.see("traffic")) + repr(slack.credentials)
    for name in ("slack_bot_token", "slack_app_token", "slack_signing_secret"):
        assert slack.announcement[name] not in text


async def test_one_document_says_what_every_act_and_query_does(
    slack: SlackStandIn, session: aiohttp.ClientSession
) -> None:
    async with session.get(slack.announcement["slack_control_url"]) as answer:
        document = await answer.json()
    assert set(document["acts"]) == set(slack.control.acts)
    assert set(document["queries"]) == set(slack.control.queries)
    assert document["methods"] == sorted(METHODS)
    for name, about in {**document["acts"], **document["queries"]}.items():
        assert about, name
    assert {"user", "channel", "wait"} <= set(document["fields"]["properties"])
    assert "kind" in document["fault"]["properties"]


async def test_a_full_reset_leaves_nothing(slack: SlackStandIn, person: Person) -> None:
    before = await person.see("state")
    await person.do("message", text="hello")
    await person.do("manifest", features={"slash_commands": [{"command": "/deploy"}]}, settings={})
    await person.do("user", user="zoe", real_name="Zoe Brook")
    await person.do("channel", channel="sales", name="deals")
    await person.do("members", channel="general", invite="outreach")
    await person.do("token", revoked=True)
    await person.do("clock", advance=9000)
    await person.do("sockets", act="silence")
    await person.do("sockets", act="disable")
    await person.do("faults", kind="status")
    await person.do("settings", burst=9)
    await person.do("reset", everything=True)
    after = await person.see("state")
    assert after.pop("now") < before.pop("now") + 60
    assert after == before
    assert (await person.see("messages", channel="outreach-alerts"))["messages"] == []
    assert (await person.see("traffic"))["exchanges"] == []
    assert (slack.workspace.revoked, slack.sockets.silent, slack.sockets.disabled) == (False, False, False)


@pytest.mark.parametrize(
    ("bounds", "texts"),
    [
        # Slack: without `inclusive`, the message at a bound is left out.
        ({"latest": 1}, ["0"]),
        ({"latest": 1, "inclusive": True}, ["1", "0"]),
        ({"oldest": 1}, ["3", "2"]),
        ({"oldest": 1, "inclusive": True}, ["3", "2", "1"]),
        ({"oldest": 0, "latest": 3}, ["2", "1"]),
        ({"oldest": 1, "latest": 2, "inclusive": True}, ["2", "1"]),
        ({"inclusive": True}, ["3", "2", "1", "0"]),
    ],
)
async def test_history_and_replies_keep_to_their_bounds(
    client: AsyncWebClient, person: Person, bounds: Json, texts: list[str]
) -> None:
    root = (await person.do("message", text="root", channel="sales"))["message"]["ts"]
    place: Json = {"channel": "sales", "thread_ts": root}
    for in_thread in ({}, place):
        stamps = [
            (await person.do("message", text=f"{number}", **in_thread))["message"]["ts"]
            for number in range(4)
        ]
        asked = {name: stamps[at] if name != "inclusive" else at for name, at in bounds.items()}
        if in_thread:
            found = (await client.conversations_replies(channel=seed.SALES, ts=root, **asked))["messages"]
            assert [one["text"] for one in found] == ["root", *reversed(texts)]
        else:
            found = (await client.conversations_history(channel=seed.ALERTS, **asked))["messages"]
            assert [one["text"] for one in found] == texts


async def test_the_last_message_that_was_read_is_not_unread(person: Person, slack: SlackStandIn) -> None:
    async def unread() -> int:
        async with person.session.get(f"{slack.origin}/page/state", params={"user": "ben"}) as answer:
            channels = (await answer.json())["channels"]
        return int(next(one["unread"] for one in channels if one["id"] == seed.SALES))

    await person.do("message", text="one", channel="sales")
    assert await unread() == 1
    await person.do("read", user="ben", channel="sales")
    assert await unread() == 0
    await person.do("message", text="two", channel="sales")
    assert await unread() == 1
