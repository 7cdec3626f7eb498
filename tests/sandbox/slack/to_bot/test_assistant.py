"""Slack's assistant calls an app's tools, here of a server of the official SDK, and shows what they answer."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import mcp_types as types
import pytest
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from slack_sdk.signature import SignatureVerifier
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from sandbox.asgi_server import bind, serving
from sandbox.slack.server import SlackStandIn
from sandbox.slack.state import seed
from tests.sandbox.slack.driver import Json, Person, actions, button, section

MANIFEST: Json = {
    "oauth_config": {"scopes": {"bot": ["commands", "mcp:connect"]}},
    "mcp_servers": {"shop": {"url": "https://shop.example/mcp", "auth_type": "slack_identity_auth"}},
}
BLOCKS = [section("1 order"), actions(button("tool:cancel", "Cancel", value='{"order": 7}'))]


class Shop:
    """A server of two tools, which knows callers by Slack's signature alone."""

    def __init__(self, secret: str) -> None:
        self.verifier = SignatureVerifier(secret)
        self.calls: list[tuple[str, Json, Json]] = []
        self.paths: list[str] = []
        self.capabilities: Any = None
        self.blocks: Any = BLOCKS
        self.signatures: list[str] = []

    async def listed(self, context: Any, page: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """A page for each tool."""
        if known := context.session.client_params:  # a server without sessions forgets them
            self.capabilities = known.capabilities
        name, cursor = ("cancel", None) if page and page.cursor else ("orders", "2")
        tool = types.Tool(name=name, title=name.title(), input_schema={"type": "object"})
        return types.ListToolsResult(tools=[tool], next_cursor=cursor)

    async def called(self, context: Any, call: types.CallToolRequestParams) -> types.CallToolResult:
        given: Json = dict(call.meta or {})
        self.calls.append((call.name, call.arguments or {}, given["slack"]))
        meta = {"slack": {"blocks": [section("Cancelled")] if call.name == "cancel" else self.blocks}}
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=f"{call.name}: done")], _meta=meta
        )

    async def guarded(self, manager: Any, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        body, self.paths = await request.body(), [*self.paths, request.url.path]
        if not self.verifier.is_valid_request(body, dict(request.headers)):
            await Response(status_code=401)(scope, receive, send)
            return
        self.signatures.append(request.headers["X-Slack-Signature"])

        kept: list[Json] = [{"type": "http.request", "body": body, "more_body": False}]

        async def again() -> Any:
            return kept.pop() if kept else await receive()

        await manager.handle_request(scope, again, send)


@pytest.fixture(params=["json", "stream", "stateless"])
async def shop(request: pytest.FixtureRequest, slack: SlackStandIn, person: Person) -> AsyncIterator[Shop]:
    shop = Shop(slack.announcement["slack_signing_secret"])
    server: Server[Any] = Server("shop", on_list_tools=shop.listed, on_call_tool=shop.called)
    how = request.param
    manager = StreamableHTTPSessionManager(
        app=server, json_response=how == "json", stateless=how == "stateless"
    )

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await shop.guarded(manager, scope, receive, send)

    started, stop = asyncio.Event(), asyncio.Event()

    async def run() -> None:
        async with manager.run():
            started.set()
            await stop.wait()

    # In a task of its own: pytest ends a fixture in another task than it began in, which anyio forbids.
    running = asyncio.create_task(run())
    await started.wait()
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(asyncio.wait_for, running, 10)
        stack.callback(stop.set)
        origin = await stack.enter_async_context(serving(app, bind(0), name="shop"))
        await person.do("manifest", **MANIFEST)
        await person.do("request_url", url=f"{origin}/slack/events", verify=False)
        slack.settings.request_url = f"{origin}/slack/events"
        yield shop


async def test_tools_are_found_page_by_page_and_called_as_the_person(shop: Shop, person: Person) -> None:
    tools = (await person.do("tools", user="ben"))["tools"]
    assert [tool["name"] for tool in tools] == ["orders", "cancel"]
    result = (await person.do("tool", user="ben", name="orders", arguments={"days": 2}))["result"]
    assert result["content"][0]["text"] == "orders: done"
    ((name, arguments, meta),) = shop.calls
    assert (name, arguments) == ("orders", {"days": 2})
    assert meta == {"user_id": seed.BEN.id, "team_id": seed.BEN.team_id, "enterprise_id": None}
    assert set(shop.paths) == {"/mcp"}
    assert len(set(shop.signatures)) == len(shop.signatures), "no two requests are alike"


async def test_it_says_that_it_shows_blocks(shop: Shop, person: Person) -> None:
    await person.do("tools")
    if shop.capabilities is not None:
        assert shop.capabilities.extensions == {
            "io.slack/block-kit": {"mimeTypes": ["application/vnd.slack.blocks+json"]}
        }


async def test_a_message_to_slackbot_shows_the_blocks_and_a_click_calls_the_tool(
    shop: Shop, person: Person
) -> None:
    (answer,) = (await person.do("message", channel="slackbot", text='orders {"days": 1}', wait=5))["answers"]
    assert (answer["user"], answer["text"]) == ("USLACKBOT", "orders: done")
    assert [block["type"] for block in answer["blocks"]] == ["section", "actions"]
    done = await person.do("click", channel="slackbot", ts=answer["ts"], text="Cancel", wait=5)
    assert (done["tool"], done["arguments"]) == ("cancel", {"order": 7})
    (changed,) = done["answers"]
    assert changed["ts"] == answer["ts"]
    assert changed["blocks"][0]["text"]["text"] == "Cancelled"


@pytest.mark.parametrize(
    "blocks",
    [
        [{"type": "plan", "title": "x"}],
        [section("x", accessory=button("tool:x", "Open", value="{}", url="http://shop.example"))],
        [actions(button("tool:x", "A", value="{}"), button("tool:x", "B", value="{}"))],
        "no blocks",
    ],
)
async def test_blocks_that_break_a_rule_are_dropped_for_the_text(
    shop: Shop, person: Person, blocks: Any
) -> None:
    shop.blocks = blocks
    (answer,) = (await person.do("message", channel="slackbot", text="orders", wait=5))["answers"]
    assert (answer["text"], answer.get("blocks") or []) == ("orders: done", [])


async def test_a_button_that_calls_no_tool_does_nothing(shop: Shop, person: Person) -> None:
    shop.blocks = [actions(button("run_0", "Yes", value="x"))]
    (answer,) = (await person.do("message", channel="slackbot", text="orders", wait=5))["answers"]
    refused = await person.do("click", channel="slackbot", ts=answer["ts"], text="Yes", refused=True)
    assert "does nothing" in refused["error"]
    assert len(shop.calls) == 1


async def test_what_slackbot_does_not_understand_it_says(shop: Shop, person: Person) -> None:
    for text, said in (
        ("dance", "no tool 'dance'"),
        ("orders [", "not JSON"),
        ("tools", "orders: Orders\ncancel: Cancel"),
    ):
        (answer,) = (await person.do("message", channel="slackbot", text=text, wait=5))["answers"]
        assert said in answer["text"]
    assert shop.calls == []


async def test_signs_that_a_composer_escapes_reach_the_tool_as_typed(shop: Shop, person: Person) -> None:
    text = 'orders {"of": "A &amp; B &lt;1&gt;"}'
    await person.do("message", channel="slackbot", text=text, wait=5)
    assert shop.calls[0][1] == {"of": "A & B <1>"}


async def test_a_session_that_the_server_forgot_is_begun_again(
    shop: Shop, person: Person, slack: SlackStandIn
) -> None:
    await person.do("tools", user="ann")
    (server,) = slack.workspace.assistant._servers.values()
    server.session = server.session and "0" * 32
    assert (await person.do("tool", user="ann", name="orders"))["result"]["content"]


async def test_a_wrong_signature_is_reported(shop: Shop, person: Person) -> None:
    shop.verifier = SignatureVerifier("another")
    assert "HTTP 401" in (await person.do("tools", refused=True))["error"]
    (exchange,) = [one for one in (await person.see("traffic"))["exchanges"] if one["direction"] == "tools"]
    assert (exchange["ok"], exchange["status"]) == (False, 401)


async def test_calls_of_tools_are_counted_apart(shop: Shop, person: Person) -> None:
    await person.do("tool", name="orders")
    assert (await person.see("summary"))["tool_calls"] >= 4
    assert (await person.see("summary"))["acks"]["count"] == 0


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"mcp_servers": {}}, "no app has mcp_servers"),
        ({"oauth_config": {"scopes": {"bot": ["commands"]}}}, "missing_scope: mcp:connect"),
        (
            {"mcp_servers": {"x": {"url": "https://x.example", "auth_type": "no_auth"}}},
            "no app has mcp_servers",
        ),
    ],
)
async def test_an_app_that_may_not_be_asked_is_not(person: Person, change: Json, error: str) -> None:
    await person.do("manifest", **{**MANIFEST, **change})
    assert error in (await person.do("tools", refused=True))["error"]


@pytest.mark.parametrize(
    "server",
    [
        {"url": "http://x.example/mcp", "auth_type": "slack_identity_auth"},
        {"url": "https://x.example/mcp", "auth_type": "magic"},
        {"auth_type": "no_auth"},
        5,
    ],
)
async def test_a_manifest_with_a_wrong_server_is_refused(person: Person, server: Any) -> None:
    assert "mcp_servers.x" in (await person.do("manifest", mcp_servers={"x": server}, refused=True))["error"]


async def test_the_page_offers_slackbot_once_an_app_has_tools(person: Person, slack: SlackStandIn) -> None:
    def is_there(state: Json) -> bool:
        return any(seed.SLACKBOT.id in channel["members"] for channel in state["channels"])

    async def state() -> Json:
        async with person.session.get(f"{slack.origin}/page/state", params={"user": "ann"}) as response:
            found: Json = await response.json()
            return found

    assert not is_there(await state())
    await person.do("manifest", **MANIFEST)
    assert is_there(await state())
