"""The fixtures: a fresh stand-in for each test within milliseconds, people who act, expectations that wait."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import dns.message
import dns.query
import dns.rcode
import psutil
import pytest
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from outreach_ops.testing import AsyncSlack, Refused, Service, Slack, expect, expect_async
from outreach_ops.testing.async_slack import AsyncChannel, AsyncUser

RESET_SECONDS = 0.025


def processor_seconds(work: Callable[[], None]) -> float:
    """What the stand-ins compute for one call: how long it takes where nothing else runs."""
    stand_ins = psutil.Process().children(recursive=True)

    def spent() -> float:
        return sum(sum(one.cpu_times()[:2]) for one in stand_ins)

    before = spent()
    for _ in range(20):
        work()
    return (spent() - before) / 20


def test_a_fresh_slack_takes_milliseconds(slack_standin: Slack) -> None:
    assert processor_seconds(slack_standin.reset) < RESET_SECONDS


@pytest.mark.e2e
def test_a_fresh_service_takes_milliseconds(outreach_service: Service) -> None:
    assert processor_seconds(outreach_service.reset) < RESET_SECONDS


@pytest.mark.parametrize("time_of_use", ["first", "second"])
def test_nothing_of_one_test_is_left_for_the_next(slack_standin: Slack, time_of_use: str) -> None:
    assert "zoe" not in slack_standin.users
    assert slack_standin.calls == {}
    slack_standin.world(users={"zoe": {}}, channels={"ops": {}})
    WebClient(slack_standin.bot_token, base_url=slack_standin.api_url).chat_postMessage(
        channel="ops", text="hi"
    )
    assert [message.text for message in slack_standin.channel("#ops").messages] == ["hi"]


def test_expectations_wait_and_show_what_happened_instead(slack_standin: Slack) -> None:
    client = WebClient(slack_standin.bot_token, base_url=slack_standin.api_url)
    client.chat_postMessage(channel="sales", text="<@U0BEN00002> claimed it")
    sales = expect(slack_standin.channel("sales"), timeout=0.1)
    assert sales.to_have_message("@ben claimed").user == "outreach"
    sales.not_to_have_message("released", for_seconds=0.05)
    assert len(sales.to_have_count(1)) == 1
    with pytest.raises(AssertionError, match=r"(?s)2 message.*not 2|1 messages in #sales, not 2.*claimed it"):
        sales.to_have_count(2)
    with pytest.raises(
        AssertionError, match=r"(?s)with 'released' in #sales.*#sales outreach: @ben claimed it"
    ):
        sales.to_have_message("released")
    with pytest.raises(AssertionError, match="There is a message with 'claimed'"):
        sales.not_to_have_message("claimed")
    with pytest.raises(AssertionError, match="No modal 'Form' in front of @ann"):
        expect(slack_standin.users["ann"], timeout=0.05).to_have_modal("Form")
    with pytest.raises(Refused, match="no such element; there are: none"):
        slack_standin.users["ann"].click("Claim", timeout=0.05)


def test_a_person_sees_what_is_for_them_alone(slack_standin: Slack) -> None:
    client = WebClient(slack_standin.bot_token, base_url=slack_standin.api_url)
    client.chat_postEphemeral(channel="C0SALES002", user="U0BEN00002", text="psst")
    [seen] = slack_standin.users["ben"].sees("sales").messages
    assert (seen.text, seen.only_for) == ("psst", "ben")
    assert slack_standin.users["ann"].sees("sales").messages == []


def test_typed_names_are_mentions_and_people_and_bots_have_ids(slack_standin: Slack) -> None:
    slack_standin.add_app(name="Expenses")
    ann, sales = slack_standin.users["ann"], slack_standin.channel("sales")
    said = ann.say("@expenses hi @ben and @nobody, see #sales; mail ann@acme.example", channel="sales")
    ben = slack_standin.users["ben"].id
    assert f"<@{ben}> and @nobody, see <#{sales.id}|sales>; mail ann@acme.example" in said.raw["text"]
    assert said.raw["text"].startswith("<@U")
    assert ann.say("@outreach claim", channel="sales").raw["text"] == f"<@{slack_standin.bot_user_id}> claim"


def test_unknown_people_are_a_clear_error(slack_standin: Slack) -> None:
    with pytest.raises(KeyError, match="no person is called 'zed'; there are: ann, ben"):
        slack_standin.users["zed"]
    with pytest.raises(Refused, match="no person 'zed'; there are: ann, ben"):
        slack_standin.act("command", text="/outreach help", user="zed")


def test_a_deactivated_person_is_listed_and_does_nothing(slack_standin: Slack) -> None:
    ben = slack_standin.users["ben"]
    ben.deactivate()
    client = WebClient(slack_standin.bot_token, base_url=slack_standin.api_url)
    assert client.users_info(user=ben.id)["user"]["deleted"] is True
    with pytest.raises(Refused, match="ben is deactivated"):
        ben.say("hello", channel="sales")
    slack_standin.act("user", user="ben", deleted=False)
    assert ben.say("hello", channel="sales").text == "hello"


@pytest.mark.parametrize("given", [{"status": 429}, {"kind": "rate_limited"}])
def test_a_failing_call_with_status_429_is_rate_limited(slack_standin: Slack, given: dict[str, Any]) -> None:
    slack_standin.fail("chat.postMessage", **given)
    client = WebClient(slack_standin.bot_token, base_url=slack_standin.api_url)
    with pytest.raises(SlackApiError) as refused:
        client.chat_postMessage(channel="sales", text="hi")
    assert (refused.value.response.status_code, refused.value.response["error"]) == (429, "ratelimited")
    assert refused.value.response.headers["Retry-After"] == "1"


def test_faults_that_no_call_would_meet_are_refused(slack_standin: Slack) -> None:
    with pytest.raises(Refused, match=r"no chat\.postMesage; did you mean chat\.postMessage\?"):
        slack_standin.fail("chat.postMesage")
    with pytest.raises(Refused, match="status is of the kind status, not error"):
        slack_standin.fail("chat.postMessage", kind="error", status=503)
    slack_standin.fail("chat.postMessage", status=503)
    slack_standin.fail("response_url", error="expired_url")


def test_a_world_is_saved_and_loaded(slack_standin: Slack, tmp_path: Path) -> None:
    slack_standin.world(
        users={"zoe": {"tz": "Europe/London"}, "max": {}}, channels={"ops": {"members": ["zoe", "bot"]}}
    )
    slack_standin.users["max"].deactivate()
    saved = slack_standin.save_world()
    kept = tmp_path / "world.json"
    kept.write_text(json.dumps(saved), "utf-8")
    slack_standin.reset()
    assert "zoe" not in slack_standin.users
    slack_standin.load_world(kept)
    assert slack_standin.save_world() == saved
    assert saved["channels"]["ops"]["members"] == ["zoe", "bot"]
    assert (saved["users"]["zoe"]["tz"], saved["users"]["max"]["deleted"]) == ("Europe/London", True)


def test_the_asynchronous_slack_has_all_that_the_synchronous_one_has(slack_standin: Slack) -> None:
    ann, sales = slack_standin.users["ann"], slack_standin.channel("sales")
    pairs = ((slack_standin, AsyncSlack(slack_standin)), (ann, AsyncUser(ann)), (sales, AsyncChannel(sales)))
    for plain, awaited in pairs:
        names = {name for name in dir(plain) if not name.startswith("_")}
        assert names - {*dir(awaited), "name"} == set()


async def test_the_asynchronous_slack_fails_advances_and_counts(async_slack_standin: AsyncSlack) -> None:
    client = AsyncWebClient(async_slack_standin.bot_token, base_url=async_slack_standin.api_url)
    await async_slack_standin.fail("chat.postMessage", error="not_in_channel")
    with pytest.raises(SlackApiError, match="not_in_channel"):
        await client.chat_postMessage(channel="sales", text="hi")
    await async_slack_standin.advance(60)
    await async_slack_standin.event("team_rename", name="Acme")
    assert await async_slack_standin.calls() == {"chat.postMessage": 1}
    assert await async_slack_standin.users() == ["ann", "ben", "cleo", "dev", "gus", "eva"]
    assert async_slack_standin.environment == async_slack_standin.sync.environment


@pytest.fixture
async def form_bot(async_slack_standin: AsyncSlack) -> AsyncIterator[AsyncSlack]:
    """A bot in the event loop of the test: `/ask` opens a modal, whose answer it posts."""
    slack = async_slack_standin.sync
    await async_slack_standin.install({"features": {"slash_commands": [{"command": "/ask"}]}, "settings": {}})
    app = AsyncApp(client=AsyncWebClient(slack.bot_token, base_url=slack.api_url))

    @app.command("/ask")
    async def ask(ack: Any, body: Any, client: Any) -> None:
        await ack()
        element = {"type": "plain_text_input", "action_id": "why"}
        label = {"type": "plain_text", "text": "Reason"}
        await client.views_open(
            trigger_id=body["trigger_id"],
            view={
                "type": "modal",
                "callback_id": "reason",
                "title": {"type": "plain_text", "text": "Why"},
                "submit": {"type": "plain_text", "text": "Send"},
                "blocks": [{"type": "input", "block_id": "b", "label": label, "element": element}],
            },
        )

    @app.view("reason")
    async def reason(ack: Any, view: Any, client: Any) -> None:
        await ack()
        await client.chat_postMessage(channel="sales", text=view["state"]["values"]["b"]["why"]["value"])

    handler = AsyncSocketModeHandler(app, slack.app_token)
    handler.client.web_client = app.client
    await handler.connect_async()  # type: ignore[no-untyped-call]  # Bolt's own
    yield async_slack_standin
    await handler.close_async()  # type: ignore[no-untyped-call]  # likewise


async def test_an_asynchronous_bot_answers_in_the_loop_of_the_test(form_bot: AsyncSlack) -> None:
    ben = await form_bot.user("ben")
    done = await ben.command("/ask", channel="sales")
    assert done.ok
    empty = await ben.submit({"Reason": ""})
    assert empty.errors == {"b": "Please complete this required field."}
    assert (await ben.submit({"Reason": "Too late"})).ok
    message = await expect_async(form_bot.channel("sales")).to_have_message("Too late")
    assert message.user == "outreach"
    assert [one.text for one in await form_bot.channel("sales").messages()] == ["Too late"]
    await asyncio.to_thread(expect(ben.sync).to_have_no_modal)


@pytest.mark.e2e
def test_the_service_passes_time_when_asked(outreach_service: Service) -> None:
    before = outreach_service.control("time")
    outreach_service.advance(86_400)
    after = outreach_service.control("time")
    assert before != after
    assert set(outreach_service.environment) == {
        "OUTREACH_BASE_URL",
        "OUTREACH_API_KEY",
        "OUTREACH_DNS_RESOLVERS",
    }


def test_the_service_breaks_its_dns_when_asked(outreach_service: Service) -> None:
    outreach_service.change_dns("useacme.example", "no_dmarc")
    outreach_service.fail_dns("servfail", name="getacme.example", times=1)
    host, _, port = outreach_service.dns_resolvers[1].partition(":")

    def ask(name: str) -> dns.message.Message:
        return dns.query.udp(dns.message.make_query(name, "TXT"), host, port=int(port), timeout=5)

    assert ask("_dmarc.useacme.example").rcode() == dns.rcode.NXDOMAIN
    assert ask("_dmarc.getacme.example").rcode() == dns.rcode.SERVFAIL
    assert ask("_dmarc.getacme.example").answer
    outreach_service.reset()
    assert ask("_dmarc.useacme.example").answer


def test_two_bots_share_a_workspace(slack_standin: Slack) -> None:
    pager = slack_standin.add_app({"features": {"slash_commands": [{"command": "/page"}]}}, name="Pager")
    pager.deliver_to("http://127.0.0.1:9/slack/events")
    assert not slack_standin.users["ann"].command("/page dev", channel="sales").ok
    for one, text in ((slack_standin, "first"), (pager, "second")):
        WebClient(one.environment["SLACK_BOT_TOKEN"], base_url=slack_standin.api_url).chat_postMessage(
            channel="sales", text=text
        )
    sales = expect(slack_standin.channel("sales"), timeout=1)
    assert sales.to_have_message("second", from_=pager.bot_name).user == "pager"
    sales.to_have_message("first", from_="outreach")
    slack_standin.reset()
    with pytest.raises(Refused, match="no app 'Pager'"):
        slack_standin.act("scopes", app="Pager")
