"""What a bot calls beside messages: conversations and people."""

from __future__ import annotations

from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.slack import seed
from tests.sandbox.slack.driver import Json

ANN, BEN, BOT = seed.ANN.id, seed.BEN.id, seed.BOT.id


async def refusal(client: AsyncWebClient, name: str, /, **args: Any) -> str:
    with pytest.raises(SlackApiError) as caught:
        await client.api_call(name, json=args)
    return str(caught.value.response["error"])


@pytest.mark.parametrize(
    ("name", "args", "error"),
    [
        ("conversations.invite", {"channel": seed.SALES}, "no_user"),
        ("conversations.invite", {"channel": seed.SALES, "users": "U0NOBODY00"}, "user_not_found"),
        ("conversations.invite", {"channel": seed.SALES, "users": BOT}, "cant_invite_self"),
        ("conversations.invite", {"channel": seed.SALES, "users": ANN}, "already_in_channel"),
        ("conversations.invite", {"channel": seed.GENERAL, "users": ANN}, "not_in_channel"),
        ("conversations.invite", {"channel": seed.ARCHIVED, "users": ANN}, "is_archived"),
        ("conversations.open", {}, "users_list_not_supplied"),
        ("conversations.open", {"users": f"{ANN},U0NOBODY00"}, "user_not_found"),
        ("users.lookupByEmail", {"email": "nobody@example.com"}, "users_not_found"),
        ("users.profile.get", {"user": "U0NOBODY00"}, "user_not_found"),
        ("api.test", {"error": "my_error"}, "my_error"),
        ("conversations.open", {"users": f"{ANN},{BEN}"}, "method_not_supported_for_channel_type"),
        ("conversations.open", {"users": BOT}, "cannot_dm_bot"),
        ("conversations.info", {"channel": "sales"}, "channel_not_found"),
        ("rtm.connect", {}, "unknown_method"),
        ("pins.add", {"channel": seed.SALES}, "unknown_method"),
        ("chat.scheduleMessage", {"channel": seed.SALES}, "unknown_method"),
        ("conversations.setTopic", {"channel": seed.SALES}, "unknown_method"),
        ("oauth.v2.access", {}, "unknown_method"),
        ("reactions.add", {"channel": seed.SALES}, "unknown_method"),
        ("files.getUploadURLExternal", {"filename": "a"}, "unknown_method"),
    ],
)
async def test_a_call_is_refused_in_the_documented_words(
    client: AsyncWebClient, name: str, args: Json, error: str
) -> None:
    assert await refusal(client, name, **args) == error


async def test_identity_methods_return_user_and_team(client: AsyncWebClient) -> None:
    assert (await client.users_lookupByEmail(email="ann@example.com"))["user"]["id"] == ANN
    assert (await client.users_profile_get(user=BEN))["profile"]["display_name"] == "ben"
    assert (await client.api_test(foo="bar"))["args"]["foo"] == "bar"
