"""The dials and the reading half of the control API, faults among them."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.slack.control.routes import ACTING, READING
from sandbox.slack.server import MAX_BODY_BYTES, SlackStandIn
from sandbox.slack.state import seed
from sandbox.slack.web_api.calls import METHODS
from tests.sandbox.slack.driver import Json, Person, section


def alert(name: str) -> Json:
    return {"event_type": "outreach_alert", "event_payload": {"alert_id": name}}


async def test_the_summary_proves_lost_and_doubled_alerts(client: AsyncWebClient, person: Person) -> None:
    await person.do("settings", messages_per_second=0)
    for name in ("al_1", "al_2", "al_2"):
        await client.chat_postMessage(channel=seed.ALERTS, text="x", metadata=alert(name))
    summary = await person.see("summary")
    assert summary["alerts"] == {"al_1": 1, "al_2": 2}
    assert (summary["alerts_posted"], summary["alerts_doubled"]) == (2, ["al_2"])
    assert summary["calls"] == {"chat.postMessage": 3}
    assert summary["messages"] == {"outreach-alerts": 3}


async def test_a_message_about_several_alerts_counts_for_each(client: AsyncWebClient, person: Person) -> None:
    for several in (["al_1", "al_2"], 5):
        payload = {"alert_id": "al_1", "alert_ids": several}
        metadata = {"event_type": "outreach_alert", "event_payload": payload}
        await client.chat_postMessage(channel=seed.ALERTS, text="x", metadata=metadata)
    assert (await person.see("summary"))["alerts"] == {"al_1": 2, "al_2": 1}


async def test_metadata_is_found_again_by_who_asks_for_it(client: AsyncWebClient) -> None:
    await client.chat_postMessage(channel=seed.ALERTS, text="x", metadata=alert("al_1"))
    plain = await client.conversations_history(channel=seed.ALERTS)
    assert "metadata" not in plain["messages"][0]
    whole = await client.conversations_history(channel=seed.ALERTS, include_all_metadata=True)
    assert whole["messages"][0]["metadata"] == alert("al_1")


async def test_history_comes_in_pages_newest_first(client: AsyncWebClient, person: Person) -> None:
    for number in range(5):
        await person.do("message", text=f"{number}")
    texts: list[str] = []
    async for page in await client.conversations_history(channel=seed.ALERTS, limit=2):
        texts += [one["text"] for one in page["messages"]]
    assert texts == ["4", "3", "2", "1", "0"]
    middle = await client.conversations_history(channel=seed.ALERTS, limit=1, latest=str(9e9))
    assert middle["has_more"] is True


async def test_a_thread_always_shows_its_beginning(client: AsyncWebClient, person: Person) -> None:
    await person.do("settings", messages_per_second=0)
    root = (await client.chat_postMessage(channel=seed.ALERTS, text="root"))["ts"]
    for number in range(3):
        await client.chat_postMessage(channel=seed.ALERTS, text=f"{number}", thread_ts=root)
    last = (await client.conversations_history(channel=seed.ALERTS))["messages"]
    assert [(one["text"], one["reply_count"]) for one in last] == [("root", 3)]
    texts: list[str] = []
    async for page in await client.conversations_replies(channel=seed.ALERTS, ts=root, limit=2):
        texts += [one["text"] for one in page["messages"] if one["ts"] != root]
        assert page["messages"][0]["ts"] == root
    assert texts == ["0", "1", "2"]


async def test_a_message_keeps_what_it_said_before(client: AsyncWebClient, person: Person) -> None:
    ts = (await client.chat_postMessage(channel=seed.ALERTS, text="one", blocks=[section("one")]))["ts"]
    await client.chat_update(channel=seed.ALERTS, ts=ts, text="two")
    shown = (await person.see("messages", channel="outreach-alerts"))["messages"][0]
    assert (shown["text"], shown.get("blocks")) == ("two", None)
    assert [one["text"] for one in shown["revisions"]] == ["one"]
    assert shown["posted_at"] == pytest.approx(float(ts), abs=1)


FAULTS = [
    ({"kind": "status", "status": 503}, 503, None),
    ({"kind": "rate_limited", "retry_after": 7}, 429, "ratelimited"),
    ({"kind": "error", "error": "fatal_error"}, 200, "fatal_error"),
]


@pytest.mark.parametrize(("fault", "status", "error"), FAULTS)
async def test_a_fault_happens_as_often_as_it_was_ordered(
    fault: Json, status: int, error: str | None, client: AsyncWebClient, person: Person
) -> None:
    await person.do("faults", method="auth.test", times=1, **fault)
    with pytest.raises(SlackApiError) as caught:
        await client.auth_test()
    assert caught.value.response.status_code == status
    if error:
        assert caught.value.response["error"] == error
    assert (await client.auth_test())["ok"]


@pytest.mark.parametrize(("kind", "posted"), [("cut", 0), ("accept_then_cut", 1)])
async def test_a_cut_connection_may_have_posted(
    kind: str, posted: int, client: AsyncWebClient, person: Person
) -> None:
    await person.do("faults", method="chat.postMessage", kind=kind)
    with pytest.raises(aiohttp.ClientError):
        await client.chat_postMessage(channel=seed.ALERTS, text="x", metadata=alert("al_1"))
    assert (await person.see("summary"))["alerts_posted"] == posted


async def test_a_fault_meets_only_calls_with_its_arguments(client: AsyncWebClient, person: Person) -> None:
    first, second = [
        (await client.chat_postMessage(channel=seed.ALERTS, text=text))["ts"] for text in ("one", "two")
    ]
    fault: Json = {"kind": "error", "error": "edit_window_closed", "times": None, "arguments": {"ts": first}}
    await person.do("faults", method="chat.update", **fault)
    assert (await client.chat_update(channel=seed.ALERTS, ts=second, text="changed"))["ok"]
    for _ in range(2):
        with pytest.raises(SlackApiError, match="edit_window_closed"):
            await client.chat_update(channel=seed.ALERTS, ts=first, text="changed")


@pytest.mark.parametrize("answer", [{"ok": True, "messages": None}, [], "text", None])
async def test_an_answer_may_have_any_shape(answer: object, slack: SlackStandIn, person: Person) -> None:
    await person.do("faults", method="conversations.history", kind="answer", answer=answer)
    token = slack.announcement["slack_bot_token"]
    url, headers = f"{slack.origin}/api/conversations.history", {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession() as http, http.get(url, headers=headers) as response:
        assert await response.json() == answer


async def test_an_unknown_fault_is_named(person: Person) -> None:
    refused = await person.do("faults", method="auth.test", kind="gremlin", refused=True)
    assert "accept_then_cut" in refused["error"]
    refused = await person.do("faults", method="auth.test", kind="cut", tmes=3, refused=True)
    assert "tmes" in refused["error"]


async def test_a_delay_is_only_a_delay(client: AsyncWebClient, person: Person) -> None:
    await person.do("faults", method="*", kind="delay", seconds=0.05, times=None)
    assert (await client.auth_test())["ok"]
    assert (await person.do("faults", clear=True))["pending"] == []
    exchange = (await person.see("traffic"))["exchanges"][0]
    assert exchange["ms"] >= 50


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


async def test_files_are_uploaded_and_seen(
    client: AsyncWebClient, person: Person, session: aiohttp.ClientSession
) -> None:
    done = await client.files_upload_v2(
        channel=seed.ALERTS,
        content="email\nada@acme.example\n",
        filename="leads.csv",
        initial_comment="All of them",
    )
    assert done["ok"]
    shown = (await person.see("messages", channel=seed.ALERTS))["messages"][0]
    assert shown["text"] == "All of them"
    file = shown["files"][0]
    async with session.get(file["url_private"]) as response:
        assert await response.text() == "email\nada@acme.example\n"
        assert response.headers["Content-Disposition"] == "attachment"
        assert response.headers["Content-Security-Policy"].startswith("sandbox")


async def test_state_has_everything_but_secrets(slack: SlackStandIn, person: Person) -> None:
    whole = await person.see("state")
    assert {user["name"] for user in whole["users"]} >= {"ann", "ben", "cleo", "dev", "gus", "eva"}
    text = repr(whole) + repr(await person.see("traffic")) + repr(slack.credentials)
    for name in ("slack_bot_token", "slack_app_token", "slack_signing_secret"):
        assert slack.announcement[name] not in text


async def test_a_reset_deletes_messages(client: AsyncWebClient, person: Person) -> None:
    await client.chat_postMessage(channel=seed.ALERTS, text="x")
    await person.do("reset")
    assert (await person.see("messages", channel=seed.ALERTS))["messages"] == []
    assert (await person.see("summary"))["calls"] == {}


@pytest.mark.parametrize(
    ("act", "body", "cause"),
    [
        ("command", {}, "missing: text"),
        ("command", {"text": "/outreach", "user": "nobody"}, "no person 'nobody'"),
        ("command", {"text": "/outreach", "channel": "nowhere"}, "no channel 'nowhere'"),
        ("command", {"text": "/outreach", "user": "eva"}, "eva is not in outreach-alerts"),
        ("message", {"text": "x", "channel": "q3-launch"}, "q3-launch is archived"),
        ("click", {"ts": "1.0", "text": "x"}, "no message 1.0 in outreach-alerts"),
        ("view/submit", {}, "no modal is open for ann"),
        ("clock", {"advance": -1}, "the clock can only be advanced"),
        ("settings", {"speed": 1}, "unknown: speed"),
    ],
)
async def test_invalid_actions_are_explained(act: str, body: Json, cause: str, person: Person) -> None:
    assert cause in (await person.do(act, refused=True, **body))["error"]


async def test_a_user_and_a_group_are_found(client: AsyncWebClient) -> None:
    assert (await client.users_info(user=seed.GUS.id))["user"]["is_restricted"] is True
    groups = (await client.usergroups_list(include_users=True))["usergroups"]
    assert groups[0]["users"] == [seed.ANN.id, seed.BEN.id]
    names = [one["name"] for one in (await client.conversations_list(exclude_archived=True))["channels"]]
    assert names == ["outreach-alerts", "sales", "general"]
    opened = await client.conversations_open(users=[seed.ANN.id])
    assert (await client.chat_postMessage(channel=opened["channel"]["id"], text="hi"))["ok"]
    link = await client.chat_getPermalink(
        channel=opened["channel"]["id"],
        message_ts=(await client.chat_postMessage(channel=seed.ANN.id, text="x"))["ts"],
    )
    assert "/archives/D0" in link["permalink"]


async def test_a_reply_can_be_sent_to_the_channel_too(client: AsyncWebClient) -> None:
    root = (await client.chat_postMessage(channel=seed.ALERTS, text="root"))["ts"]
    await client.chat_postMessage(channel=seed.ALERTS, text="loud", thread_ts=root, reply_broadcast=True)
    await client.chat_postMessage(channel=seed.ALERTS, text="quiet", thread_ts=root)
    shown = (await client.conversations_history(channel=seed.ALERTS))["messages"]
    assert [one["text"] for one in shown] == ["loud", "root"]
    assert shown[0]["subtype"] == "thread_broadcast"


async def test_an_answer_names_the_granted_scopes(client: AsyncWebClient, person: Person) -> None:
    await person.do("scopes", set=["chat:write", "commands"])
    assert (await client.auth_test()).headers["X-OAuth-Scopes"] == "chat:write,commands"


@pytest.mark.parametrize(("kind", "words"), [("cut", []), ("accept_then_cut", ["once"])])
async def test_a_response_address_can_be_cut_too(
    kind: str, words: list[str], person: Person, session: aiohttp.ClientSession
) -> None:
    url = (await person.do("command", text="/outreach status"))["response_url"]
    await person.do("faults", method="response_url", kind=kind)
    with pytest.raises(aiohttp.ClientError):
        await session.post(url, json={"text": "once"})
    found = (await person.see("messages", channel=seed.ALERTS))["messages"]
    assert [one["text"] for one in found if one["by_app"]] == words


async def test_an_unknown_act_is_404_and_the_wrong_method_405(
    slack: SlackStandIn, session: aiohttp.ClientSession
) -> None:
    for address in (slack.origin, f"{slack.origin}/teams/{slack.second.contents.team.id}"):
        for method, name, status in (
            ("GET", "state", 200),
            ("POST", "state", 405),
            ("GET", "view/submit", 405),
            ("POST", "reset", 200),
            ("GET", "nothing", 404),
            ("POST", "nothing", 404),
        ):
            async with session.request(method, f"{address}/control/{name}") as answer:
                assert (answer.status, method, name) == (status, method, name)


def test_every_act_is_written_down() -> None:
    text = (Path(__file__).parents[4] / "docs" / "slack-stand-in.md").read_text("utf-8")
    assert [name for name in (*ACTING, *READING) if f"| `{name}` |" not in text] == []
    assert [
        name for name in METHODS if f"`{name}`" not in text and f"`.{name.rpartition('.')[2]}`" not in text
    ] == []


async def test_people_react_take_it_back_and_read(client: AsyncWebClient, person: Person) -> None:
    ts = (await client.chat_postMessage(channel=seed.ALERTS, text="x"))["ts"]
    for added in (True, False, True):
        assert (await person.do("reaction", ts=ts, name=":eyes:", user="ben"))["added"] is added
    [shown] = (await person.see("messages", channel=seed.ALERTS))["messages"]
    assert shown["reactions"] == [{"name": "eyes", "users": [seed.BEN.id], "count": 1}]
    assert (await person.do("read", user="ben"))["read_until"] == ts


@pytest.mark.parametrize(
    ("act", "body", "sentence"),
    [
        ("manifest", {"features": "x"}, "features: not an object"),
        ("manifest", {"features": {"slash_commands": [5]}}, "slash_commands: each an object with a command"),
        ("manifest", {"oauth_config": {"scopes": {"bot": ["a\nb"]}}}, "scopes.bot: not a list of words"),
        ("manifest", {"display_information": {"name": 5}}, "display_information.name: not a short text"),
        ("settings", {"burst": 1e400}, "burst: not a number from 0 on"),
        ("settings", {"messages_per_second": "nan"}, "messages_per_second: not a number from 0 on"),
        ("settings", {"commands": "x"}, "commands: not a list"),
        ("scopes", {"add": ["x\r\ny: z"]}, "add: not a list of words"),
        ("app", {"name": "B", "channels": [1]}, "channels: not a list of words"),
    ],
)
async def test_invalid_settings_change_nothing(person: Person, act: str, body: Json, sentence: str) -> None:
    before = await person.see("state")
    assert (await person.do(act, refused=True, **body))["error"] == sentence
    assert {**await person.see("state"), "now": 0} == {**before, "now": 0}


async def test_a_long_run_keeps_the_newest(slack: SlackStandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.slack.world.world.MAX_MESSAGES", 2)
    world = slack.workspace.world
    sales = world.channel("sales")
    for number in range(5):
        world.post(sales, user=seed.ANN.id, text=f"{number}")
    assert [one.text for one in sales.messages.values()] == ["3", "4"]
    assert sales.posted == 5


async def test_half_a_request_and_one_too_large_leave_no_trace(
    slack: SlackStandIn, session: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture
) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", slack.port)
    head = f"POST /control/command HTTP/1.1\r\nHost: 127.0.0.1:{slack.port}\r\nContent-Length: "
    writer.write(f"{head}1000\r\n\r\n{{".encode())
    await writer.drain()
    writer.close()
    reader, garbage = await asyncio.open_connection("127.0.0.1", slack.port)
    garbage.write(b"no HTTP\r\n\r\n")
    assert b" 400 " in await reader.readline()
    garbage.close()
    large = io.BytesIO(b"x" * (MAX_BODY_BYTES + 1))
    async with session.post(f"{slack.origin}/control/command", data=large) as answer:
        assert (answer.status, (await answer.json())["error"]) == (413, "request_too_large")
    assert caplog.records == []
