"""Several apps in one workspace: each has its own tokens, bot, commands, events and way to be reached."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from slack_bolt.adapter.asgi.async_handler import AsyncSlackRequestHandler
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.asgi_server import bind, serving
from sandbox.slack.server import SlackStandIn
from sandbox.slack.state import seed
from tests.sandbox.slack.driver import Json, Person, actions, button, modal, section

MANIFEST: Json = {
    "display_information": {"name": "Deploy Bot"},
    "features": {
        "slash_commands": [{"command": "/deploy", "description": "Deploys"}],
        "shortcuts": [{"type": "global", "name": "Roll back", "callback_id": "rollback"}],
    },
    "oauth_config": {"scopes": {"bot": ["commands", "chat:write", "app_mentions:read", "im:write"]}},
    "settings": {
        "event_subscriptions": {"bot_events": ["app_mention", "app_home_opened", "message.channels"]}
    },
}


class Deployer:
    """A second app: its Bolt app, its client, and what Slack told about it."""

    def __init__(self, told: Json, slack: SlackStandIn, session: aiohttp.ClientSession) -> None:
        self.told = told
        base = slack.announcement["slack_api_url"]
        self.client = AsyncWebClient(token=told["bot_token"], base_url=base, session=session)
        self.app = AsyncApp(client=self.client, signing_secret=told["signing_secret"])
        self.mentions: list[str] = []
        self.app.command("/deploy")(self._deploy)
        self.app.action("again")(self._again)
        self.app.event("app_mention")(self._mentioned)
        self.app.event("app_home_opened")(self._home)
        self.app.shortcut("rollback")(self._rollback)
        self.app.view("form")(self._submitted)

    async def _deploy(self, ack: Any, say: Any, command: Json) -> None:
        await ack()
        await say(text=f"Deploying {command['text']}", blocks=[actions(button("again", "Again"))])

    async def _again(self, ack: Any, respond: Any) -> None:
        await ack()
        await respond("Once more", replace_original=False)

    async def _mentioned(self, event: Json) -> None:
        self.mentions.append(event["text"])

    async def _home(self, client: Any, event: Json) -> None:
        await client.views_publish(
            user_id=event["user"], view={"type": "home", "blocks": [section("Builds")]}
        )

    async def _rollback(self, ack: Any, client: Any, shortcut: Json) -> None:
        await ack()
        await client.views_open(trigger_id=shortcut["trigger_id"], view=modal(section("Which?")))

    async def _submitted(self, ack: Any, client: Any, body: Json) -> None:
        await ack()
        await client.chat_postMessage(channel=body["user"]["id"], text="Rolled back")


@pytest.fixture(params=["http", "socket"])
async def deployer(
    request: pytest.FixtureRequest, slack: SlackStandIn, session: aiohttp.ClientSession, person: Person
) -> AsyncIterator[Deployer]:
    """The second app over both transports, beside the stand-in's own, which listens to nothing."""
    made = Deployer((await person.do("app", manifest=MANIFEST))["app"], slack, session)
    async with contextlib.AsyncExitStack() as exits:
        if request.param == "http":
            origin = await exits.enter_async_context(
                serving(AsyncSlackRequestHandler(made.app), bind(0), name="deployer")  # type: ignore[arg-type]
            )
            await person.do("request_url", app="Deploy Bot", url=f"{origin}/slack/events", verify=True)
        else:
            handler = AsyncSocketModeHandler(made.app, made.told["app_token"])
            handler.client.web_client = made.client
            await handler.connect_async()  # type: ignore[no-untyped-call]
            exits.push_async_callback(handler.close_async)
        yield made


async def test_a_second_app_gets_its_commands_clicks_shortcuts_and_home(
    deployer: Deployer, person: Person, slack: SlackStandIn
) -> None:
    done = await person.do("command", text="/deploy api", channel="sales", wait=5)
    (posted,) = done["answers"]
    assert (posted["user"], posted["app_id"]) == (deployer.told["bot_user"], deployer.told["id"])
    clicked = await person.do("click", element="Again", channel="sales", wait=5)
    assert clicked["answers"][-1]["text"] == "Once more"
    opened = await person.do("shortcut", callback_id="rollback", wait=5)
    assert opened["view"]["bot_id"] == deployer.told["bot_id"]
    submitted = await person.do("view/submit", channel="dm", wait=5)
    assert submitted["errors"] == {}
    said = (await person.see("messages", channel="dm-ann-deploy-bot"))["messages"]
    assert [one["text"] for one in said] == ["Rolled back"]
    home = await person.do("home/open", app="Deploy Bot", wait=5)
    assert home["view"]["blocks"][0]["text"]["text"] == "Builds"
    assert (await person.do("home/open"))["view"] is None


async def test_each_app_hears_its_own_mentions_and_may_do_what_its_own_scopes_allow(
    deployer: Deployer, person: Person, client: AsyncWebClient, slack: SlackStandIn
) -> None:
    await person.do("message", text=f"<@{seed.BOT.id}> not you", channel="sales")
    await person.do("message", text=f"<@{deployer.told['bot_user']}> you", channel="sales")
    await slack.feed.until(lambda: bool(deployer.mentions), timeout=20)
    assert deployer.mentions == [f"<@{deployer.told['bot_user']}> you"]
    tests = [await one.auth_test() for one in (client, deployer.client)]
    assert [(one["user"], one["app_id"]) for one in tests] == [
        ("outreach", seed.APP.id),
        ("deploy-bot", deployer.told["id"]),
    ]
    with pytest.raises(SlackApiError, match="missing_scope"):
        await deployer.client.reactions_add(channel=seed.SALES, timestamp="1.0", name="eyes")
    mine = await client.chat_postMessage(channel=seed.SALES, text="mine")
    with pytest.raises(SlackApiError, match="cant_update_message"):
        await deployer.client.chat_update(channel=seed.SALES, ts=mine["ts"], text="theirs")


async def test_of_two_apps_with_one_command_the_one_installed_last_gets_it(
    person: Person, slack: SlackStandIn
) -> None:
    manifest = {**MANIFEST, "features": {"slash_commands": [{"command": "/outreach"}]}}
    await person.do("app", manifest=manifest)
    await person.do("command", text="/outreach status")
    sent = [one["app"] for one in (await person.see("traffic"))["exchanges"]]
    slack.workspace.install(slack.workspace.first)
    await person.do("command", text="/outreach status")
    sent = [one["app"] for one in (await person.see("traffic"))["exchanges"]]
    assert sent == ["A0DEPLOYBOT", seed.APP.id]


async def test_a_trigger_and_a_direct_message_are_one_apps_own(
    deployer: Deployer, person: Person, client: AsyncWebClient
) -> None:
    done = await person.do("command", text="/deploy api", channel="sales")
    with pytest.raises(SlackApiError, match="invalid_trigger_id"):
        await client.views_open(trigger_id=done["trigger_id"], view=modal(section("Mine?")))
    theirs = (await deployer.client.conversations_open(users=[seed.ANN.id]))["channel"]["id"]
    with pytest.raises(SlackApiError, match="channel_not_found"):
        await client.chat_postMessage(channel=theirs, text="Not for me")


async def test_a_full_reset_takes_away_the_apps_that_were_not_kept(
    session: aiohttp.ClientSession, slack: SlackStandIn, person: Person
) -> None:
    before = await person.see("state")
    kept = (await person.do("app", manifest=MANIFEST))["app"]
    await person.do("keep")
    await person.do("app", name="Other")
    await person.do("scopes", app="Deploy Bot", set=[])
    await person.do("uninstall", app="Deploy Bot")
    await person.do("reset", everything=True)
    apps = (await person.see("state"))["apps"]
    assert [one["name"] for one in apps] == ["Outreach", "Deploy Bot"]
    assert apps[1]["settings"]["scopes"] == sorted(MANIFEST["oauth_config"]["scopes"]["bot"])
    client = AsyncWebClient(kept["bot_token"], base_url=slack.announcement["slack_api_url"], session=session)
    assert (await client.auth_test())["bot_id"] == kept["bot_id"]
    await person.do("app", app="Deploy Bot", remove=True)
    after = await person.see("state")
    assert {**after, "now": 0} == {**before, "now": 0}


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({}, "name: needed"),
        ({"name": "Ann"}, "name: 'Ann' is taken"),
        ({"name": "outreach"}, "name: 'outreach' is taken"),
        ({"name": "B", "channels": ["nowhere"]}, "no channel 'nowhere'"),
        ({"name": "B", "request_url": "https://bot.example"}, "url: only http:// on this machine"),
        ({"app": "Outreach", "remove": True}, "app: the first app stays"),
        ({"app": "Nobody", "remove": True}, "app: no app 'Nobody'; there are: Outreach"),
    ],
)
async def test_an_app_that_cannot_be_is_explained(person: Person, body: Json, sentence: str) -> None:
    assert sentence in (await person.do("app", refused=True, **body))["error"]
    assert len((await person.see("state"))["apps"]) == 1
