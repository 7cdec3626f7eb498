from __future__ import annotations

import hashlib
import hmac
import io
import json
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from sandbox.slack import seed
from tests.bot.harness import CHANNEL, BotHarness, interested
from tests.kit.clock import moment


async def alert(bot: BotHarness, number: int = 1) -> dict[str, Any]:
    """Have an interested reply delivered, and return its message."""
    assert await bot.deliver(interested(number)) == 200
    await bot.until_posted(1)
    return (await bot.messages())[0]


async def test_a_guest_and_a_stranger_may_not_claim(bot: BotHarness) -> None:
    message = await alert(bot)
    response = await bot.control(
        "click", channel=CHANNEL, ts=message["ts"], text="Claim", user=seed.GUS.id, wait=5
    )
    assert "Guests of this Slack workspace" in json.dumps(response["answers"])
    assert "Claimed" not in json.dumps((await bot.messages())[0])


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


async def test_the_url_verification_challenge_is_answered(bot: BotHarness) -> None:
    body = json.dumps({"type": "url_verification", "challenge": "3eZbrw1aB"}).encode()
    headers = {**signed(bot, body), "Content-Type": "application/json"}
    async with bot.http.post(f"{bot.url}/slack/events", data=body, headers=headers) as answer:
        assert (answer.status, "3eZbrw1aB" in await answer.text()) == (200, True)
