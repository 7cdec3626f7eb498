"""The stand-in says no where Slack does, in Slack's words, and is broken by nothing."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.clock import Clock
from sandbox.slack import seed
from sandbox.slack.blockkit import problems
from sandbox.slack.delivery import Delivery
from sandbox.slack.errors import SlackError
from sandbox.slack.server import SlackStandIn
from sandbox.slack.settings import Credentials, Settings
from sandbox.slack.web_api.call import Call
from sandbox.slack.web_api.methods import METHODS
from sandbox.slack.workspace import RateLimiter, Workspace
from tests.sandbox.cases import built
from tests.sandbox.slack.driver import Json, Person, modal, refused, section


@pytest.mark.parametrize(("token", "error"), [("", "not_authed"), ("xoxb-no", "invalid_auth")])
async def test_a_token_must_be_right(
    token: str, error: str, slack: SlackStandIn, session: aiohttp.ClientSession
) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    async with session.post(f"{slack.origin}/api/auth.test", headers=headers) as response:
        assert await response.json() == {"ok": False, "error": error}


async def test_a_revoked_token_is_refused_everywhere(client: AsyncWebClient, person: Person) -> None:
    await client.auth_test()
    await person.do("token", revoked=True)
    assert (await refused(client.auth_test()))["error"] == "token_revoked"
    await person.do("token", revoked=False)
    await client.auth_test()


async def test_a_missing_scope_is_named(client: AsyncWebClient, person: Person) -> None:
    await person.do("scopes", remove=["chat:write", "groups:history"])
    answer = await refused(client.chat_postMessage(channel=seed.ALERTS, text="x"))
    assert (answer["error"], answer["needed"]) == ("missing_scope", "chat:write")
    assert "users:read" in answer["provided"].split(",")
    assert (await refused(client.conversations_history(channel=seed.PRIVATE)))["needed"] == "groups:history"
    assert (await client.conversations_history(channel=seed.ALERTS))["ok"]


async def test_only_the_public_scope_opens_channels_without_the_bot(
    client: AsyncWebClient, person: Person
) -> None:
    assert (await client.chat_postMessage(channel=seed.GENERAL, text="x"))["ok"]
    await person.do("scopes", remove=["chat:write.public"])
    post = client.chat_postMessage(channel=seed.GENERAL, text="x")
    assert (await refused(post))["error"] == "not_in_channel"


async def test_each_method_has_its_tier(client: AsyncWebClient, person: Person) -> None:
    # users.list is of tier 2: about 20 a minute. users.info is of tier 4.
    for _ in range(20):
        await client.users_list()
    with pytest.raises(SlackApiError) as caught:
        await client.users_list()
    assert (caught.value.response.status_code, caught.value.response.headers["Retry-After"]) == (429, "3")
    await client.users_info(user=seed.ANN.id)
    await person.do("clock", advance=3)
    await client.users_list()
    await person.do("settings", tier_factor=0)
    for _ in range(3):
        await client.users_list()


async def test_only_own_messages_can_be_changed(client: AsyncWebClient, person: Person) -> None:
    response = await person.do("message", text="mine", user="ben")
    ts = response["message"]["ts"]
    assert (await refused(client.chat_update(channel=seed.ALERTS, ts=ts, text="x")))[
        "error"
    ] == "cant_update_message"
    assert (await refused(client.chat_delete(channel=seed.ALERTS, ts=ts)))["error"] == "cant_delete_message"


async def test_other_names_and_other_pages_stay_outside(
    slack: SlackStandIn, session: aiohttp.ClientSession
) -> None:
    for headers, status in (
        ({"Host": "evil.example"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": slack.origin}, 200),
    ):
        async with session.post(f"{slack.origin}/control/reset", headers=headers) as response:
            assert response.status == status


@pytest.mark.parametrize(
    ("kind", "value", "pointer"),
    [
        ("blocks", [section("x"), {"type": "nonsense"}], "/1/type"),
        ("message", {"blocks": [section("")]}, "/blocks/0/text/text"),
        ("view", modal(title={"type": "plain_text", "text": "x" * 25}), "/title/text"),
    ],
)
async def test_validation_points_at_what_slack_would_refuse(
    kind: str, value: Any, pointer: str, client: AsyncWebClient
) -> None:
    answer = await refused(client.api_call("blocks.validate", params={kind: json.dumps(value)}))
    assert answer["error"] == f"invalid_{kind}"
    assert [error["pointer"] for error in answer["errors"]] == [pointer]
    good = {"blocks": [section("x")], "message": {"blocks": [section("x")]}, "view": modal()}
    assert (await client.api_call("blocks.validate", json={kind: good[kind]}))["ok"]


async def test_all_channels_share_the_limit_of_the_workspace(client: AsyncWebClient, person: Person) -> None:
    await person.do("settings", workspace_messages_per_minute=2)
    await client.chat_postMessage(channel=seed.ALERTS, text="x")
    await client.chat_postMessage(channel=seed.SALES, text="x")
    with pytest.raises(SlackApiError) as caught:
        await client.chat_postMessage(channel=seed.GENERAL, text="x")
    assert caught.value.response.headers["Retry-After"] == "30"
    await person.do("clock", advance=30)
    await client.chat_postMessage(channel=seed.GENERAL, text="x")


async def test_the_limit_counts_a_channel_once_by_name_or_id(client: AsyncWebClient, person: Person) -> None:
    await person.do("settings", burst=3)
    # chat.postMessage takes a channel's id or name, and its limit is one a second for each channel.
    for channel in (seed.SALES, "#sales", "sales"):
        await client.chat_postMessage(channel=channel, text="x")
    for channel in (seed.SALES, "#sales"):
        with pytest.raises(SlackApiError, match="ratelimited"):
            await client.chat_postMessage(channel=channel, text="x")


async def test_an_update_changes_attachments_and_keeps_those_that_are_not_sent(
    client: AsyncWebClient, person: Person
) -> None:
    await person.do("settings", messages_per_second=0)
    red, blue = ([{"color": "#f00", "text": color, "fallback": color}] for color in ("red", "blue"))
    posted = await client.chat_postMessage(channel=seed.ALERTS, text="x", attachments=red)
    place: dict[str, Any] = {"channel": seed.ALERTS, "ts": posted["ts"]}
    for sent, kept in (
        ({"text": "y"}, red),
        ({"attachments": blue}, blue),
        ({"text": "z", "attachments": []}, None),
    ):
        await client.chat_update(**place, **sent)
        (found,) = (await client.conversations_history(channel=seed.ALERTS))["messages"]
        assert (found["text"], found.get("attachments")) == (sent.get("text", "y"), kept)
    for wrong, error in (({"text": "z", "attachments": "nonsense"}, "invalid_attachments"), ({}, "no_text")):
        assert (await refused(client.api_call("chat.update", json={**place, **wrong})))["error"] == error


# A workspace without a server, whose app listens to no events.
SPACE = Workspace(
    settings=Settings(events=frozenset(), messages_per_second=0),
    credentials=Credentials(),
    clock=Clock(),
    origin="http://127.0.0.1:1",
)
DELIVERY = Delivery(SPACE)
POSTED = SPACE.post(SPACE.channel(seed.ALERTS), user=seed.BOT.id, text="x", app=seed.APP).ts
LIKELY = [
    seed.ALERTS,
    seed.ANN.id,
    POSTED,
    "1",
    "",
    [section("x")],
    modal(),
    {"event_type": "t", "event_payload": {}},
]
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12) | st.sampled_from(LIKELY),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
NAMES = [
    "attachments",
    "blocks",
    "channel",
    "cursor",
    "hash",
    "include_all_metadata",
    "latest",
    "manifest",
    "limit",
    "message_ts",
    "metadata",
    "oldest",
    "text",
    "thread_ts",
    "trigger_id",
    "ts",
    "types",
    "user",
    "user_id",
    "usergroup",
    "users",
    "view",
    "view_id",
]


@pytest.mark.parametrize("name", sorted(METHODS))
@settings(max_examples=settings().max_examples // 3)  # for each method
@given(args=st.dictionaries(st.sampled_from(NAMES), ANYTHING, max_size=6))
def test_any_arguments_are_answered_or_refused(name: str, args: Json) -> None:
    answer: Any = None
    with contextlib.suppress(SlackError):
        call = Call(method=METHODS[name], args=args, workspace=SPACE, delivery=DELIVERY)
        answer = METHODS[name].run(call)
    assert answer is None or isinstance(answer, dict)


@given(
    st.lists(st.floats(min_value=0, max_value=3), max_size=60),
    st.integers(min_value=1, max_value=5),
)
def test_no_second_holds_more_than_the_burst_and_one(gaps: list[float], burst: int) -> None:
    clock, taken = Clock(0.0, speed=0), list[float]()
    limiter = RateLimiter(clock)
    for gap in gaps:
        clock.advance(gap)
        with contextlib.suppress(SlackError):
            limiter.take("C", rate=1.0, burst=burst)
            taken.append(clock.now())
    assert len(taken) >= min(burst, len(gaps))
    for start in taken:
        assert sum(start <= at < start + 1 for at in taken) <= burst + 1


CASES: dict[str, list[Any]] = json.loads(Path(__file__).with_name("refused.json").read_text("utf-8"))


@pytest.mark.parametrize("case", CASES["calls"], ids=lambda case: case["what"])
async def test_slack_would_refuse_a_call(case: Json, client: AsyncWebClient) -> None:
    answer = await refused(client.api_call(case["method"], json=built(case["args"], 0)))
    assert answer["error"] == case["error"]


@pytest.mark.parametrize("case", CASES["blocks_at_a_limit"], ids=lambda case: case["what"])
def test_a_limit_of_blocks_holds_to_the_last_one(case: Json) -> None:
    assert problems(built(case["blocks"], case["most"])) == []
    found = problems(built(case["blocks"], case["most"] + 1))
    assert found
    assert all("[json-pointer:/blocks" in one for one in found)


@pytest.mark.parametrize("block", CASES["bad_blocks"], ids=str)
def test_a_block_that_slack_cannot_draw_is_refused(block: Any) -> None:
    assert problems([block])


@pytest.mark.parametrize("case", CASES["acts"], ids=lambda case: f"{case['act']} {case['body']}")
async def test_what_cannot_be_done_is_explained_and_changes_nothing(case: Json, person: Person) -> None:
    before = await person.see("state")
    assert case["error"] in (await person.do(case["act"], refused=True, **case["body"]))["error"]
    assert {**await person.see("state"), "now": 0} == {**before, "now": 0}


def test_a_modal_takes_twice_as_many_blocks() -> None:
    assert problems([{"type": "divider"}] * 100, surface="modal") == []
    assert problems([{"type": "divider"}] * 101, surface="modal")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(["type", "text", "elements", "accessory", "options", "x"]), inner, max_size=4
            )
        ),
        max_leaves=12,
    )
)
def test_no_json_breaks_the_check(anything: Any) -> None:
    assert all("[json-pointer:" in line for line in problems(anything))
    assert isinstance(problems([{"type": "section", "accessory": anything}]), list)
