"""What a client is made from: address, key, limits; and the hints of each."""

from __future__ import annotations

import pytest

from shared.api import (
    OutreachClient,
    Unauthorized,
    Unreadable,
)
from tests.client.conftest import KEY
from tests.client.scripted_server import Answer, ScriptedServer


@pytest.mark.parametrize(
    ("address", "fix"),
    [
        ("https://api.x.io", "ends in /v1"),
        ("https://api.x.io/v2", "ends in /v1"),
        ("api.x.io/v1", "web address"),
        ("ftp://api.x.io/v1", "web address"),
        ("https://user:word@api.x.io/v1", "without a user"),
        ("https://api.x.io/v1?x=1", "query"),
        ("", "web address"),
    ],
)
def test_an_address_that_cannot_be_one_is_refused_with_the_fix(address: str, fix: str) -> None:
    with pytest.raises(ValueError, match=r"base URL") as caught:
        OutreachClient(base_url=address, api_key=KEY)
    assert fix in str(caught.value)


@pytest.mark.parametrize("key", ["", " ", "ok_live\n", "ok live", "ok_lïve", "ok\r\nX-Evil: 1"])
def test_a_key_that_cannot_stand_in_a_header_is_refused_and_not_quoted(key: str) -> None:
    with pytest.raises(ValueError, match=r"API key") as caught:
        OutreachClient(base_url="https://api.x.io/v1", api_key=key)
    assert not key.strip() or key not in str(caught.value)


def test_address_and_key_come_from_the_environment_or_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OUTREACH_BASE_URL", raising=False)
    monkeypatch.delenv("OUTREACH_API_KEY", raising=False)
    with pytest.raises(ValueError, match="Pass base_url, or set the environment variable OUTREACH_BASE_URL"):
        OutreachClient()
    monkeypatch.setenv("OUTREACH_BASE_URL", "https://api.x.io/v1/")
    with pytest.raises(ValueError, match="Pass api_key, or set the environment variable OUTREACH_API_KEY"):
        OutreachClient()
    monkeypatch.setenv("OUTREACH_API_KEY", KEY)
    assert OutreachClient().base_url == "https://api.x.io/v1"


async def test_hints_name_arguments_unless_they_are_explained(server: ScriptedServer) -> None:
    server.play = lambda _: Answer(status=401)
    async with OutreachClient(base_url=server.base_url, api_key=KEY) as plain:
        with pytest.raises(Unauthorized, match="pass it as `api_key`"):
            await plain.list_sequences()
    async with OutreachClient(
        base_url=server.base_url, api_key=KEY, explain=lambda argument: f"Change {argument}."
    ) as explained:
        with pytest.raises(Unauthorized, match=r"Change api_key\."):
            await explained.list_sequences()
        server.play = lambda _: Answer(body={"nothing": 1})
        with pytest.raises(Unreadable, match=r"Change fields\.inbox\.list\."):
            await explained.list_inboxes()
