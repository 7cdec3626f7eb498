from __future__ import annotations

import asyncio
import hashlib
import hmac
import io
import json
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from bot.blockkit.actions import OnAlert, write_value
from sandbox.slack import seed
from tests.bot.harness import CHANNEL, BotHarness, interested
from tests.kit.clock import moment
from tests.waiting import until


async def alert(bot: BotHarness, number: int = 1) -> dict[str, Any]:
    """Have an interested reply delivered, and return its message."""
    assert await bot.deliver(interested(number)) == 200
    await bot.until_posted(1)
    return (await bot.messages())[0]


async def test_claim_puts_the_name_on_the_card_and_answers_a_late_click(
    bot: BotHarness,
) -> None:
    message = await alert(bot)
    at = {"channel": CHANNEL, "ts": message["ts"]}
    await asyncio.gather(
        *(bot.control("click", **at, text="Claim", user=user.id) for user in (seed.ANN, seed.BEN))
    )

    async def found() -> bool:
        card, *others = [json.dumps(one) for one in await bot.messages()]
        return "claimed by @" in card and ["claimed this at" in one for one in others] == [True]

    await until(found)
    assert "Release" in json.dumps((await bot.messages())[0])
    (claimed,) = [one for one in await bot.messages() if "claimed by @" in json.dumps(one)]
    claimed_id = claimed["metadata"]["event_payload"]["alert_id"]
    release = write_value(OnAlert(verb="release", alert=claimed_id))
    await bot.control("click", **at, action_id="run_menu", value=release, user=seed.ANN.id)

    async def free() -> bool:
        return "claimed by" not in json.dumps((await bot.messages())[0])

    await until(free)

    async def written() -> bool:
        assert bot.running is not None
        done = await bot.running.store.records.audit("default")
        return [entry.command.split()[0] for entry in done] == ["release", "claim"]

    await until(written)


async def test_a_guest_and_a_stranger_may_not_claim(bot: BotHarness) -> None:
    message = await alert(bot)
    response = await bot.control(
        "click", channel=CHANNEL, ts=message["ts"], text="Claim", user=seed.GUS.id, wait=5
    )
    assert "Guests of this Slack workspace" in json.dumps(response["answers"])
    assert "Claimed" not in json.dumps((await bot.messages())[0])


async def test_whoami_shows_the_role_only_to_the_person(bot: BotHarness) -> None:
    answer = (await bot.say("whoami", user=seed.BEN.id))[0]
    assert "ben" in answer["text"]
    assert "operator" in answer["text"]
    assert answer["seen_by"] == seed.BEN.id


async def test_an_unknown_command_is_quoted_with_the_nearest(bot: BotHarness) -> None:
    answer = json.dumps((await bot.say("puase x"))[0], ensure_ascii=False)
    assert "“puase”" in answer
    assert "pause" in answer


HOSTILE = [
    {"X-Slack-Request-Timestamp": "now"},
    {"X-Slack-Request-Timestamp": "-1"},
    {"X-Slack-Request-Timestamp": "9" * 400},
    {"X-Slack-Request-Timestamp": "0"},
    {"X-Slack-Request-Timestamp": "99999999999"},
    {"X-Slack-Signature": "é"},
    {"X-Slack-Signature": ""},
    {"X-Slack-Signature": "v0=" + "0" * 64},
]


@pytest.mark.parametrize("change", HOSTILE, ids=str)
async def test_a_malformed_slack_request_is_401(bot: BotHarness, change: dict[str, str]) -> None:
    body = urlencode({"command": "/outreach", "text": "whoami"}).encode()
    headers = {**signed(bot, body), **change}
    async with bot.http.post(f"{bot.url}/slack/events", data=body, headers=headers) as answer:
        assert answer.status == 401


async def test_a_binary_slack_body_gets_400_and_a_huge_one_413(bot: BotHarness) -> None:
    for body, status in ((b"\xff\xfe", 400), (b"x" * (1024 * 1024 + 1), 413)):
        async with bot.http.post(
            f"{bot.url}/slack/events", data=io.BytesIO(body), headers=signed(bot, b"")
        ) as answer:
            assert answer.status == status


@pytest.mark.parametrize("body", [b"", b"payload=%7B", b"payload=[]", b"{}", b"[]", b"text=x"], ids=repr)
async def test_a_signed_body_of_odd_shape_is_no_server_error(bot: BotHarness, body: bytes) -> None:
    async with bot.http.post(f"{bot.url}/slack/events", data=body, headers=signed(bot, body)) as answer:
        assert answer.status < 500


@pytest.mark.parametrize(
    "body",
    [
        b'{"type":"event_callback","event":[]}',
        b'{"type":"event_callback","event":{"type":[]}}',
        b"payload=" + quote('{"type":"block_actions","actions":[]}').encode(),
        b"payload=" + quote('{"type":"view_submission","view":[1]}').encode(),
        b"[" * 100_000,
    ],
    ids=lambda body: str(body[:40]),
)
async def test_a_signed_body_whose_parts_have_another_type_is_400(bot: BotHarness, body: bytes) -> None:
    headers = {**signed(bot, body), "Content-Type": "application/json; charset=utf-8"}
    if body.startswith(b"payload"):
        headers["Content-Type"] = "application/x-www-form-urlencoded"
    async with bot.http.post(f"{bot.url}/slack/events", data=body, headers=headers) as answer:
        assert answer.status == 400


def signed(bot: BotHarness, body: bytes) -> dict[str, str]:
    at = str(int(moment().timestamp()))
    secret = bot.slack.credentials.signing_secret.encode()
    digest = hmac.new(secret, f"v0:{at}:".encode() + body, hashlib.sha256).hexdigest()
    return {
        "X-Slack-Request-Timestamp": at,
        "X-Slack-Signature": f"v0={digest}",
        "Content-Type": "application/x-www-form-urlencoded",
    }


async def test_health_readiness_and_metrics_show_the_current_state(bot: BotHarness) -> None:
    await alert(bot)
    assert (await bot.get("/healthz"))[0] == 200
    status, body = await bot.get("/readyz")
    assert status == 200
    assert json.loads(body)["database"] == "ok"
    metrics = (await bot.get("/metrics"))[1]
    assert 'outreach_posted_total{kind="alert"}' in metrics
    assert "outreach_delivery_to_post_seconds_bucket" in metrics


async def test_the_url_verification_challenge_is_answered(bot: BotHarness) -> None:
    body = json.dumps({"type": "url_verification", "challenge": "3eZbrw1aB"}).encode()
    headers = {**signed(bot, body), "Content-Type": "application/json"}
    async with bot.http.post(f"{bot.url}/slack/events", data=body, headers=headers) as answer:
        assert (answer.status, "3eZbrw1aB" in await answer.text()) == (200, True)
