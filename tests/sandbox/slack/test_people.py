"""What people do in the stand-in: forms, answers to their own addresses, and the control API that acts for them."""

from __future__ import annotations

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.slack import seed
from sandbox.slack.server import SlackStandIn
from sandbox.slack.web_api.methods import METHODS
from tests.sandbox.receiver import Receiver
from tests.sandbox.slack.driver import (
    Json,
    Person,
    actions,
    asked,
    button,
    modal,
    option,
    payloads,
    plain,
    section,
)

WHY = asked("why", {"type": "plain_text_input", "action_id": "text", "min_length": 3})


async def opened(slack: SlackStandIn, client: AsyncWebClient, view: Json) -> Json:
    trigger = slack.workspace.issue_trigger(seed.ANN.id)
    return dict((await client.views_open(trigger_id=trigger, view=view))["view"])


async def test_the_app_can_refuse_change_and_clear(
    slack: SlackStandIn, client: AsyncWebClient, person: Person, receiver: Receiver
) -> None:
    await opened(slack, client, modal(WHY, private_metadata="m"))
    receiver.answers = [
        {"response_action": "errors", "errors": {"why": "No."}},
        {"response_action": "errors", "errors": {"unknown": "No."}},
        {"response_action": "update", "view": modal(WHY, title=plain("Second"))},
        {"response_action": "clear"},
    ]

    async def submit(text: str = "because") -> Json:
        return await person.do("view/submit", values={"text": text})

    assert "why" in (await submit(""))["errors"], "Slack asks for it itself"
    assert (await submit())["errors"] == {"why": "No."}
    assert "" in (await submit())["errors"]
    assert (await submit())["view"]["title"]["text"] == "Second"
    assert (await submit())["view"] is None
    sent = payloads(receiver)[0]["view"]
    assert sent["private_metadata"] == "m"
    assert sent["state"]["values"]["why"]["text"] == {"type": "plain_text_input", "value": "because"}


async def test_a_trigger_works_once_and_three_seconds(
    slack: SlackStandIn, person: Person, client: AsyncWebClient
) -> None:
    used, late = (slack.workspace.issue_trigger(seed.ANN.id) for _ in range(2))
    await client.views_open(trigger_id=used, view=modal(WHY))
    with pytest.raises(SlackApiError, match="exchanged_trigger_id"):
        await client.views_open(trigger_id=used, view=modal(WHY))
    # Slack: a trigger_id expires three seconds after it was sent.
    await person.do("clock", advance=3.1)
    with pytest.raises(SlackApiError, match="expired_trigger_id"):
        await client.views_open(trigger_id=late, view=modal(WHY))


async def test_an_update_with_an_old_hash_conflicts(slack: SlackStandIn, client: AsyncWebClient) -> None:
    view = await opened(slack, client, modal(WHY))
    # Slack: the hash is for two updates that race, of which the later one must not win unseen.
    await client.views_update(view_id=view["id"], hash=view["hash"], view=modal(section("later")))
    with pytest.raises(SlackApiError, match="hash_conflict"):
        await client.views_update(view_id=view["id"], hash=view["hash"], view=modal(section("too late")))


async def test_options_are_loaded_and_chosen(
    slack: SlackStandIn, client: AsyncWebClient, person: Person, receiver: Receiver
) -> None:
    find = {"type": "external_select", "action_id": "find", "min_query_length": 1}
    await opened(slack, client, modal(asked("lead", find)))
    await person.do("settings", loads_options=True)
    ada = option("ada@acme.example", "ld_1")
    receiver.answers = [{"options": [ada]}, {}]
    found = await person.do("options", view=True, action_id="find", value="ada")
    assert found["options"] == [ada]
    await person.do("view/submit", values={"find": "ld_1"}, offered=[ada])
    searched, submitted = payloads(receiver)
    assert (searched["type"], searched["value"]) == ("block_suggestion", "ada")
    assert submitted["view"]["state"]["values"]["lead"]["find"]["selected_option"] == ada


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


BOUNDS: list[tuple[Json, list[str]]] = [
    # Slack: without `inclusive`, the message at a bound is left out.
    ({"latest": 1}, ["0"]),
    ({"latest": 1, "inclusive": True}, ["1", "0"]),
    ({"oldest": 1}, ["3", "2"]),
    ({"oldest": 1, "inclusive": True}, ["3", "2", "1"]),
    ({"oldest": 0, "latest": 3}, ["2", "1"]),
    ({"oldest": 1, "latest": 2, "inclusive": True}, ["2", "1"]),
    ({"inclusive": True}, ["3", "2", "1", "0"]),
]


async def test_history_and_replies_keep_to_their_bounds(client: AsyncWebClient, person: Person) -> None:
    root = (await person.do("message", text="root", channel="sales"))["message"]["ts"]
    for read, place in (
        (client.conversations_history, {"channel": seed.ALERTS}),
        (client.conversations_replies, {"channel": seed.SALES, "ts": root}),
    ):
        where = {"channel": place["channel"], **({"thread_ts": root} if "ts" in place else {})}
        posted = [await person.do("message", text=f"{number}", **where) for number in range(4)]
        stamps = [one["message"]["ts"] for one in posted]
        for bounds, texts in BOUNDS:
            asked = {name: stamps[at] if name != "inclusive" else at for name, at in bounds.items()}
            shown = [one["text"] for one in (await read(**place, **asked))["messages"]]
            assert shown == (["root", *reversed(texts)] if "ts" in place else texts), bounds


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
