"""Installing the app in a second workspace: the page, the code, the token, and what is refused on the way."""

from __future__ import annotations

import base64
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.slack.server import SlackStandIn
from sandbox.slack.state import seed
from tests.sandbox.slack.driver import Person

REDIRECT = "https://bot.example/slack/oauth_redirect"
SECOND = seed.NORTHWIND.id


@pytest.fixture(autouse=True)
def redirect_urls(slack: SlackStandIn) -> None:
    slack.settings.redirect_urls = (REDIRECT,)


def query(slack: SlackStandIn, **changes: str) -> dict[str, str]:
    known = {"client_id": slack.credentials.client_id, "scope": "chat:write,commands", "state": "s1"}
    return {name: value for name, value in {**known, **changes}.items() if value}


async def decide(
    slack: SlackStandIn, session: aiohttp.ClientSession, decision: str = "allow", **changes: str
) -> dict[str, str]:
    """What the redirect URL is called with."""
    url, form = f"{slack.origin}/oauth/v2/authorize", {"team": SECOND, "decision": decision}
    async with session.post(url, params=query(slack, **changes), data=form, allow_redirects=False) as answer:
        assert answer.status == 302, await answer.text()
        location = answer.headers["Location"]
    assert location.startswith(REDIRECT)
    return {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}


async def exchange(
    slack: SlackStandIn, client: AsyncWebClient, code: str, **changes: str
) -> dict[str, object]:
    app = {"client_id": slack.credentials.client_id, "client_secret": slack.credentials.client_secret}
    app |= {name: changes.pop(name) for name in app.keys() & changes.keys()}
    basic = base64.b64encode(f"{app['client_id']}:{app['client_secret']}".encode()).decode()
    assert client.session is not None
    answer = await client_of(slack, client.session, "").api_call(
        "oauth.v2.access", data={"code": code, **changes}, headers={"Authorization": f"Basic {basic}"}
    )
    assert isinstance(answer.data, dict)
    return answer.data


async def error_of(slack: SlackStandIn, client: AsyncWebClient, code: str, **changes: str) -> str:
    with pytest.raises(SlackApiError) as refused:
        await exchange(slack, client, code, **changes)
    return str(refused.value.response["error"])


def client_of(slack: SlackStandIn, session: aiohttp.ClientSession, token: object) -> AsyncWebClient:
    return AsyncWebClient(
        token=str(token), base_url=slack.announcement["slack_api_url"], session=session, retry_handlers=[]
    )


async def test_an_installation_gives_a_token_that_acts_in_its_own_workspace_only(
    slack: SlackStandIn, session: aiohttp.ClientSession, client: AsyncWebClient
) -> None:
    back = await decide(slack, session)
    assert back["state"] == "s1"
    installed = await exchange(slack, client, back["code"])
    assert installed["team"] == {"id": SECOND, "name": "Northwind Partners"}
    assert installed["token_type"] == "bot"
    assert installed["scope"] == "chat:write,commands"
    second = client_of(slack, session, installed["access_token"])
    assert (await second.auth_test())["team_id"] == SECOND
    assert (await client.auth_test())["team_id"] == seed.TEAM.id
    await second.chat_postMessage(channel=seed.SALES, text="for Northwind")
    assert [m.text for m in slack.second.world.channels[seed.SALES].messages.values()] == ["for Northwind"]
    assert not slack.workspace.world.channels[seed.SALES].messages
    assert (await second.users_info(user=seed.BEN.id))["user"]["name"] == "nia"
    assert (await client.users_info(user=seed.BEN.id))["user"]["name"] == "ben"


async def test_a_code_is_good_for_one_exchange_within_ten_minutes(
    slack: SlackStandIn, session: aiohttp.ClientSession, client: AsyncWebClient
) -> None:
    code = (await decide(slack, session))["code"]
    await exchange(slack, client, code)
    assert await error_of(slack, client, code) == "invalid_code"
    late = (await decide(slack, session))["code"]
    slack.clock.advance(601)
    assert await error_of(slack, client, late) == "invalid_code"
    assert await error_of(slack, client, "made up") == "invalid_code"


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"client_id": "1.2"}, "invalid_client_id"),
        ({"client_secret": "guessed"}, "bad_client_secret"),
        ({"redirect_uri": f"{REDIRECT}/other"}, "bad_redirect_uri"),
        ({"grant_type": "password"}, "invalid_grant_type"),
    ],
)
async def test_an_exchange_with_a_wrong_value_names_it(
    slack: SlackStandIn,
    session: aiohttp.ClientSession,
    client: AsyncWebClient,
    changes: dict[str, str],
    error: str,
) -> None:
    code = (await decide(slack, session))["code"]
    assert await error_of(slack, client, code, **changes) == error


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"client_id": "1.2"}, "invalid_client_id"),
        ({"redirect_uri": "https://evil.example/slack/oauth_redirect"}, "bad_redirect_uri"),
        ({"redirect_uri": f"{REDIRECT}.evil.example"}, "bad_redirect_uri"),
        ({"scope": ""}, "no_scopes"),
    ],
)
async def test_the_page_refuses_what_the_app_is_not_configured_for(
    slack: SlackStandIn, session: aiohttp.ClientSession, changes: dict[str, str], error: str
) -> None:
    async with session.get(f"{slack.origin}/oauth/v2/authorize", params=query(slack, **changes)) as answer:
        assert answer.status == 400
        assert error in await answer.text()


async def test_a_cancelled_installation_ends_at_the_redirect_url_with_access_denied(
    slack: SlackStandIn, session: aiohttp.ClientSession
) -> None:
    assert await decide(slack, session, "cancel") == {"error": "access_denied", "state": "s1"}
    assert not slack.second.first.installed


async def test_an_uninstalled_app_loses_its_token_and_gets_another_when_it_comes_back(
    slack: SlackStandIn, session: aiohttp.ClientSession, client: AsyncWebClient
) -> None:
    first = await exchange(slack, client, (await decide(slack, session))["code"])
    second = Person(session, f"{slack.origin}/teams/{SECOND}/control")
    await second.do("uninstall")
    with pytest.raises(SlackApiError, match="invalid_auth"):
        await client_of(slack, session, first["access_token"]).auth_test()
    await second.do("command", text="/outreach status", user="eva", channel="general", refused=True)
    again = await exchange(slack, client, (await decide(slack, session))["code"])
    assert again["access_token"] != first["access_token"]


async def test_each_workspace_has_its_own_page_and_people(
    slack: SlackStandIn, session: aiohttp.ClientSession
) -> None:
    for folder, team, people in (
        ("", seed.TEAM.name, "ben"),
        (f"/teams/{SECOND}", seed.NORTHWIND.name, "nia"),
    ):
        async with session.get(f"{slack.origin}{folder}/page/state", params={"user": people}) as answer:
            shown = await answer.json()
        assert shown["team"]["name"] == team
        async with session.get(f"{slack.origin}{folder}/") as answer:
            assert answer.status == 200
