from __future__ import annotations

import hashlib
import hmac
import io
import json
from urllib.parse import urlencode

import pytest

from tests.kit.clock import moment
from tests.kit.team import Installation

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
async def test_a_malformed_slack_request_is_401(bot: Installation, change: dict[str, str]) -> None:
    body = urlencode({"command": "/outreach", "text": "whoami"}).encode()
    headers = {**signed(bot, body), **change}
    async with bot.http.post(f"{bot.url}/slack/events", data=body, headers=headers) as answer:
        assert answer.status == 401


@pytest.mark.parametrize(
    ("body", "status"), [(b"\xff\xfe", 400), (b"[" * 100_000, 400), (b"x" * (1024 * 1024 + 1), 413)]
)
async def test_a_binary_or_deep_slack_body_gets_400_and_a_huge_one_413(
    bot: Installation, body: bytes, status: int
) -> None:
    headers = {**signed(bot, body), "Content-Type": "application/json; charset=utf-8"}
    async with bot.http.post(f"{bot.url}/slack/events", data=io.BytesIO(body), headers=headers) as answer:
        assert answer.status == status


def signed(bot: Installation, body: bytes) -> dict[str, str]:
    at = str(int(moment().timestamp()))
    secret = bot.slack.credentials.signing_secret.encode()
    digest = hmac.new(secret, f"v0:{at}:".encode() + body, hashlib.sha256).hexdigest()
    return {
        "X-Slack-Request-Timestamp": at,
        "X-Slack-Signature": f"v0={digest}",
        "Content-Type": "application/x-www-form-urlencoded",
    }


async def test_the_url_verification_challenge_is_answered(bot: Installation) -> None:
    body = json.dumps({"type": "url_verification", "challenge": "3eZbrw1aB"}).encode()
    headers = {**signed(bot, body), "Content-Type": "application/json"}
    async with bot.http.post(f"{bot.url}/slack/events", data=body, headers=headers) as answer:
        assert (answer.status, "3eZbrw1aB" in await answer.text()) == (200, True)
