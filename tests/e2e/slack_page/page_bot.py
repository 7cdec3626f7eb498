"""A bot that knows a command, buttons, a modal, Home and mentions, and its Slack's page in a browser."""

from __future__ import annotations

import re
from typing import Any

from playwright.async_api import Browser, Page
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.slack.server import SlackStandIn
from tests.sandbox.slack.driver import (
    Json,
    actions,
    asked,
    button,
    modal,
    mrkdwn,
    option,
    plain,
    section,
)

CONFIRM = {
    "title": plain("Pause it?"),
    "text": mrkdwn("*312* leads wait"),
    "confirm": plain("Pause"),
    "deny": plain("Keep"),
}
SEQUENCES = [option("Founders", "sq_1"), option("Nordics", "sq_2")]
FORM = modal(
    asked("sequence", {"type": "static_select", "action_id": "sequence", "options": SEQUENCES}),
    asked("reason", {"type": "plain_text_input", "action_id": "reason"}),
    title=plain("Pause a sequence"),
    submit=plain("Pause"),
)
OWNER = modal(
    asked("owner", {"type": "external_select", "action_id": "owner", "min_query_length": 0}),
    title=plain("Choose an owner"),
    callback_id="owner",
)


def card(who: str | None = None) -> list[Json]:
    claim = button("claim", "Release" if who else "Claim", style="primary", value="al_1")
    pause = button("pause", "Pause", style="danger", confirm=CONFIRM)
    menu = {
        "type": "overflow",
        "action_id": "more",
        "options": [option("Snooze", "snooze"), option("Open", "open")],
    }
    by = f"Claimed by <@{who}>" if who else "Still unclaimed"
    return [
        {"type": "header", "text": plain("Interested: Ada Lovelace")},
        section("> Can we talk on *Thursday*?"),
        actions(claim, pause, menu),
        {"type": "context", "elements": [mrkdwn(by)]},
    ]


def listen(app: AsyncApp, got: list[Any]) -> None:
    """Let the app answer a command, buttons, a modal, Home and mentions."""

    @app.command("/outreach")
    async def command(ack: Any, command: Json, client: AsyncWebClient) -> None:
        if view := {"form": FORM, "owner": OWNER}.get(command["text"]):
            await ack()
            await client.views_open(trigger_id=command["trigger_id"], view=view)
        else:
            await ack(f"You said *{command['text']}*")

    @app.action(re.compile("claim|pause|more"))
    async def act(ack: Any, body: Json, action: Json, respond: Any) -> None:
        await ack()
        got.append((action["action_id"], (action.get("selected_option") or {}).get("value")))
        if action["action_id"] == "claim":
            await respond(text="Interested", blocks=card(body["user"]["id"]), replace_original=True)

    @app.view("form")
    async def submitted(ack: Any, view: Json) -> None:
        values = view["state"]["values"]
        reason = values["reason"]["reason"]["value"]
        if len(reason) < 5:
            await ack(response_action="errors", errors={"reason": "Say a little more."})
        else:
            await ack()
            got.append((values["sequence"]["sequence"]["selected_option"]["value"], reason))

    @app.options("owner")
    async def owners(ack: Any) -> None:
        await ack(options=[option("Zoe Brook", "U9")])

    @app.view("owner")
    async def owner(ack: Any) -> None:
        await ack(response_action="errors", errors={"owner": "She is away."})

    @app.view("list")
    async def chosen(ack: Any) -> None:
        await ack()

    listen_to_events(app)


def listen_to_events(app: AsyncApp) -> None:
    """Let the app show Home, and answer a mention."""

    @app.event("app_home_opened")
    async def home(event: Json, client: AsyncWebClient) -> None:
        await client.views_publish(
            user_id=event["user"], view={"type": "home", "blocks": [section("Good day")]}
        )

    @app.event("app_mention")
    async def mentioned(event: Json, client: AsyncWebClient) -> None:
        thread = event.get("thread_ts") or event["ts"]
        await client.chat_postMessage(channel=event["channel"], thread_ts=thread, text="At your service")


async def visit(browser: Browser, slack: SlackStandIn, place: str = "ann/outreach-alerts") -> Page:
    page = await browser.new_page(viewport={"width": 1400, "height": 900})
    page.set_default_timeout(8000)
    await page.goto(f"{slack.origin}/#{place}")
    await page.wait_for_selector("[data-state=live]")
    return page
