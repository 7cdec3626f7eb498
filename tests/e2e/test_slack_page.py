"""The Slack page in a real browser: a person's whole day, by mouse and by keyboard, hostile mail and faults included."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, Route, async_playwright, expect
from slack_bolt.adapter.asgi.async_handler import AsyncSlackRequestHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient
from starlette.types import ASGIApp

from sandbox.asgi_server import bind, serving
from sandbox.slack import seed
from sandbox.slack.server import SlackStandIn
from sandbox.slack.settings import Settings, Shortcut
from sandbox.slack.views import top_view
from tests.e2e.browser import chromium
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


@pytest_asyncio.fixture(loop_scope="module")
async def slack() -> AsyncIterator[SlackStandIn]:
    async with SlackStandIn(settings=Settings(request_url=None, messages_per_second=0)) as standin:
        yield standin


@pytest.fixture
def client(slack: SlackStandIn) -> AsyncWebClient:
    connection = slack.announcement
    return AsyncWebClient(token=connection["slack_bot_token"], base_url=connection["slack_api_url"])


@pytest_asyncio.fixture(loop_scope="module")
async def got(slack: SlackStandIn, client: AsyncWebClient) -> AsyncIterator[list[Any]]:
    """Run the bot, and collect what reaches it."""
    app = AsyncApp(client=client, signing_secret=slack.announcement["slack_signing_secret"])
    seen: list[Any] = []
    listen(app, seen)
    handler = cast("ASGIApp", AsyncSlackRequestHandler(app))
    async with serving(handler, bind(0), name="bolt") as origin:
        slack.settings.request_url = f"{origin}/slack/events"
        yield seen


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        launched = await playwright.chromium.launch(**chromium())
        yield launched
        await launched.close()


@pytest.fixture
def wrong() -> list[str]:
    """Collect what the page's console complains of; a test that expects a complaint takes it out."""
    return []


@pytest_asyncio.fixture(loop_scope="module")
async def page(
    browser: Browser, slack: SlackStandIn, got: list[Any], wrong: list[str]
) -> AsyncIterator[Page]:
    """Open Ann's page; whatever goes wrong in it fails the test."""
    opened = await visit(browser, slack)
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on(
        "console", lambda entry: wrong.append(entry.text) if entry.type in {"error", "warning"} else None
    )
    yield opened
    await opened.close()
    assert wrong == []


pytestmark = [pytest.mark.timeout(120), pytest.mark.asyncio(loop_scope="module")]

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


async def test_a_dangerous_button_asks_first(page: Page, client: AsyncWebClient, got: list[Any]) -> None:
    await client.chat_postMessage(channel=seed.ALERTS, text="Interested", blocks=card())
    pause = page.get_by_role("button", name="Pause")
    await pause.click()
    await expect(page.get_by_test_id("confirm")).to_contain_text("312 leads wait")
    await page.keyboard.press("Escape")
    await expect(page.get_by_test_id("confirm")).to_have_count(0)
    assert got == []
    await pause.click()
    async with page.expect_response("**/control/click"):
        await page.get_by_test_id("confirm-yes").click()
    assert got == [("pause", None)]


async def test_a_menu_is_used_with_arrows(page: Page, client: AsyncWebClient, got: list[Any]) -> None:
    await client.chat_postMessage(channel=seed.ALERTS, text="Interested", blocks=card())
    await page.get_by_test_id("overflow").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_test_id("option")).to_have_count(2)
    await page.keyboard.press("ArrowDown")
    async with page.expect_response("**/control/click"):
        await page.keyboard.press("Enter")
    await expect(page.get_by_test_id("popover")).to_have_count(0)
    assert got == [("more", "open")]


async def test_a_modal_keeps_what_was_typed_until_it_is_right(page: Page, got: list[Any]) -> None:
    await page.get_by_test_id("composer").fill("/outreach form")
    await page.keyboard.press("Enter")
    form = page.get_by_test_id("modal")
    await expect(form.get_by_test_id("modal-title")).to_have_text("Pause a sequence")
    await form.get_by_test_id("input").fill("no")
    await page.keyboard.press("Enter")
    await expect(form.get_by_test_id("input-error")).to_have_text("Please complete this required field.")
    await form.get_by_test_id("select").click()
    await page.get_by_test_id("option").filter(has_text="Nordics").click()
    await form.get_by_test_id("modal-submit").click()
    await expect(form.get_by_test_id("input-error")).to_have_text("Say a little more.")
    await expect(form.get_by_test_id("select")).to_contain_text("Nordics")
    await form.get_by_test_id("input").fill("no budget left")
    await form.get_by_test_id("modal-submit").click()
    await expect(form).to_have_count(0)
    assert got == [("sq_2", "no budget left")]


async def test_escape_closes_a_modal_for_the_bot_too(page: Page, slack: SlackStandIn) -> None:
    await page.get_by_test_id("composer").fill("/outreach form")
    await page.keyboard.press("Enter")
    await expect(page.get_by_test_id("modal")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_test_id("modal")).to_have_count(0)
    assert top_view(slack.workspace, seed.ANN.id) is None


async def test_a_thread_holds_a_conversation_with_the_bot(page: Page) -> None:
    await page.get_by_test_id("composer").fill("Who takes Ada?")
    await page.keyboard.press("Enter")
    message = page.get_by_test_id("timeline").get_by_test_id("message")
    await message.hover()
    await message.get_by_test_id("open-thread").click()
    thread = page.get_by_test_id("thread-panel")
    await thread.get_by_test_id("thread-composer").fill("@outreach you?")
    await page.keyboard.press("Enter")
    await expect(thread.get_by_test_id("message")).to_have_count(3)
    await expect(thread).to_contain_text("At your service")
    await expect(page.get_by_test_id("thread-link")).to_contain_text("2 replies")


async def test_people_see_only_their_messages(page: Page, client: AsyncWebClient) -> None:
    await page.get_by_test_id("composer").fill("/outreach status")
    await page.keyboard.press("Enter")
    await expect(page.get_by_test_id("ephemeral")).to_contain_text("Only visible to you")
    await client.chat_postMessage(channel=seed.SALES, text="A deal")
    await expect(page.locator("[data-channel=sales] [data-testid=unread]")).to_have_text("1")
    await page.get_by_test_id("user-switcher").click()
    await page.get_by_test_id("option").filter(has_text="Gus").click()
    await expect(page.get_by_test_id("user-switcher")).to_contain_text("Guest")
    await expect(page.get_by_test_id("ephemeral")).to_have_count(0)
    await expect(page.locator("[data-channel=leadership]")).to_have_count(0)


async def test_the_inspector_shows_what_a_command_took(page: Page) -> None:
    await page.get_by_test_id("inspector-toggle").click()
    await page.get_by_test_id("composer").fill("/outreach status")
    await page.keyboard.press("Enter")
    row = page.get_by_test_id("exchange").filter(has_text="/outreach status")
    await row.locator("summary").click()
    await expect(row).to_contain_text("trigger_id")
    await expect(row).not_to_contain_text("verification")


async def test_a_whole_errand_needs_no_mouse(page: Page, client: AsyncWebClient, got: list[Any]) -> None:
    await page.keyboard.press("Alt+ArrowDown")
    await expect(page.locator("h1")).to_contain_text("sales")
    await page.keyboard.press("Alt+ArrowUp")
    await expect(page.locator("h1")).to_contain_text("outreach-alerts")
    await client.chat_postMessage(channel=seed.ALERTS, text="Interested", blocks=card())
    await expect(page.get_by_role("button", name="Claim")).to_be_visible()
    for _ in range(60):
        await page.keyboard.press("Tab")
        if await page.evaluate("document.activeElement.dataset.text") == "Claim":
            break
    await page.keyboard.press("Enter")
    await expect(page.get_by_test_id("message")).to_contain_text("Claimed by @Ann Kirsch")
    assert got == [("claim", None)]
    await page.keyboard.press("/")
    await expect(page.get_by_test_id("autocomplete")).to_contain_text("/outreach")
    await page.keyboard.press("Enter")
    await page.keyboard.type("form")
    await expect(page.get_by_test_id("autocomplete")).to_be_hidden()  # Slack completes no words of a command
    await page.keyboard.press("Enter")
    await expect(page.get_by_test_id("modal-title")).to_have_text("Pause a sequence")
    await page.keyboard.press("Enter")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")
    await page.keyboard.type("They asked us to wait")
    async with page.expect_response("**/control/view/submit"):
        await page.keyboard.press("Enter")
    await expect(page.get_by_test_id("modal")).to_have_count(0)
    assert got[1] == ("sq_2", "They asked us to wait")


async def test_a_shortcut_is_one_click_away(browser: Browser, slack: SlackStandIn, got: list[Any]) -> None:
    slack.settings.shortcuts = (Shortcut(callback_id="pick", name="Pause something"),)
    page = await visit(browser, slack)
    await page.get_by_test_id("shortcuts").click()
    async with page.expect_request("**/control/shortcut") as request:
        await page.get_by_test_id("option").click()
    acted = {"user": seed.ANN.id, "callback_id": "pick"}
    assert (await request.value).post_data_json == acted
    await page.close()


async def test_a_long_word_is_broken_on_the_home_tab(
    browser: Browser, slack: SlackStandIn, client: AsyncWebClient, got: list[Any]
) -> None:
    page = await visit(browser, slack, "ann/home")
    await client.views_publish(user_id=seed.ANN.id, view={"type": "home", "blocks": [section("x" * 400)]})
    await expect(page.get_by_text("xxx")).to_be_visible()
    assert await page.locator(".home-body").evaluate("node => node.scrollWidth <= node.clientWidth")
    await page.close()


HOSTILE = [
    "<img src=x onerror=window.pwned=1><script>window.pwned=1</script>",
    "&lt;script&gt;window.pwned=1&lt;/script&gt;",
    "<javascript:window.pwned=1|click me> <data:text/html,x|or me>",
    '<https://bank.example/" onmouseover="window.pwned=1|bank>',
    "```</pre><script>window.pwned=1</script>```",
    "*_~`\ue0000\ue001<!date^x^{date}|<b>>",
    "\u202egnp.exe <!channel> <@U404> :constructor: :__proto__:",
    "*" * 500 + "_" * 500 + "<" * 500,
]


async def test_what_a_lead_writes_never_runs(page: Page, client: AsyncWebClient) -> None:
    outside: list[str] = []
    page.on("request", lambda request: None if "127.0.0.1" in request.url else outside.append(request.url))
    for text in HOSTILE:
        blocks = [
            section(text[:3000]),
            {"type": "header", "text": plain(text[:150])},
            {"type": "image", "alt_text": text, "image_url": "https://tracker.example/pixel.png"},
            {
                "type": "rich_text",
                "elements": [
                    {
                        "type": "rich_text_section",
                        "elements": [
                            {"type": "link", "url": "javascript:window.pwned=1", "text": text},
                            {"type": "emoji", "name": "constructor"},
                        ],
                    }
                ],
            },
            actions(button("x", text[:75], url="javascript:window.pwned=1")),
        ]
        await client.chat_postMessage(channel=seed.ALERTS, text=text, blocks=blocks)
    await expect(page.get_by_test_id("message")).to_have_count(len(HOSTILE))
    log = page.get_by_test_id("timeline")
    assert await log.locator("script, iframe, object, [onerror], [onmouseover]").count() == 0
    assert await log.locator("a[href^='javascript'], a[href^='data']").count() == 0
    assert await log.locator("img").count() == 0
    assert await page.evaluate("window.pwned") is None
    assert outside == []


async def test_a_data_table_is_sorted_and_paged(page: Page, client: AsyncWebClient) -> None:
    head = [{"type": "raw_text", "text": name} for name in ("Group", "Sends")]
    numbers = [
        [
            {"type": "raw_text", "text": f"g{n}"},
            {"type": "raw_number", "value": n * 7 % 10, "text": f"{n * 7 % 10}"},
        ]
        for n in range(10)
    ]
    table: Json = {"type": "data_table", "caption": "Groups", "page_size": 4, "rows": [head, *numbers]}
    await client.chat_postMessage(channel=seed.ALERTS, text="x", blocks=[table])
    first = page.locator("tbody tr").first
    await expect(page.locator("tbody tr")).to_have_count(4)
    await expect(first).to_have_text("g00")
    await page.get_by_role("button", name="Sends").click()
    await page.get_by_role("button", name="Sends").click()
    await expect(first).to_have_text("g79")
    await page.get_by_role("button", name="Next").click()
    await page.get_by_role("button", name="Next").click()
    await expect(page.locator("tbody tr")).to_have_count(2)


async def test_inline_scripts_are_forbidden_by_policy(
    page: Page, slack: SlackStandIn, wrong: list[str]
) -> None:
    ran = await page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'window.pwned = 1';"
        " document.body.append(s); return window.pwned ?? null; }"
    )
    assert ran is None
    assert "Content Security Policy" in wrong.pop()
    response = await page.request.get(slack.origin)
    assert "script-src 'self';" in response.headers["content-security-policy"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_every_control_has_a_name_and_nothing_overflows(
    page: Page, client: AsyncWebClient, scheme: Any
) -> None:
    await page.emulate_media(color_scheme=scheme)
    await client.chat_postMessage(channel=seed.ALERTS, text="Interested", blocks=card())
    await expect(page.get_by_test_id("message")).to_have_count(1)
    nameless = await page.evaluate(
        "() => [...document.querySelectorAll('button, a, input, textarea')]"
        ".filter((e) => !(e.textContent.trim() || e.ariaLabel || e.placeholder || e.title)).map((e) => e.outerHTML)"
    )
    assert nameless == []
    for width in (1400, 1000, 390):
        await page.set_viewport_size({"width": width, "height": 800})
        await asyncio.sleep(0)
        assert await page.evaluate("document.documentElement.scrollWidth") <= width


async def test_a_narrow_screen_has_its_channels_in_a_drawer(page: Page) -> None:
    await page.set_viewport_size({"width": 390, "height": 800})
    await expect(page.locator("[data-channel=sales]")).not_to_be_in_viewport()
    await page.get_by_role("button", name="Channels").click()
    await page.locator("[data-channel=sales]").click()
    await expect(page.locator("h1")).to_contain_text("sales")
    await expect(page.locator("[data-channel=sales]")).not_to_be_in_viewport()


async def test_home_survives_a_state_that_was_read_before_it(page: Page, slack: SlackStandIn) -> None:
    """Its first opening begins the conversation with the bot, so the page reads its state anew."""
    before = await page.request.get(f"{slack.origin}/page/state?user=ann")
    shown = page.get_by_test_id("home")
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def late(route: Route) -> None:
        asked.set()
        await go_on.wait()
        await route.fulfill(response=before)

    async def after_the_state(route: Route) -> None:
        answer = await route.fetch()
        await asked.wait()
        await expect(shown).to_contain_text("Good day")
        async with page.expect_response("**/page/state*"):
            go_on.set()
        await route.fulfill(response=answer)

    await page.route("**/page/state*", late)
    await page.route("**/control/home/open", after_the_state)
    async with page.expect_response("**/control/home/open"):
        await page.get_by_test_id("home-item").click()
    await page.evaluate("() => new Promise(requestAnimationFrame)")
    await expect(shown).to_contain_text("Good day")


async def test_a_late_bot_is_reported(page: Page, client: AsyncWebClient, slack: SlackStandIn) -> None:
    slack.settings.request_url = "http://127.0.0.1:9/slack/events"
    await client.chat_postMessage(channel=seed.ALERTS, text="Interested", blocks=card())
    await page.get_by_role("button", name="Claim").click()
    await expect(page.get_by_test_id("failure")).to_contain_text("dispatch_failed")
    await page.get_by_test_id("composer").fill("/outreach status")
    await page.keyboard.press("Enter")
    await expect(page.get_by_test_id("ephemeral")).to_contain_text("failed with the error dispatch_failed")


async def test_nothing_typed_is_lost_when_sending_fails(page: Page, wrong: list[str]) -> None:
    await page.route("**/control/message", lambda route: route.abort())
    composer = page.get_by_test_id("composer")
    await composer.fill("important")
    await page.keyboard.press("Enter")
    await expect(page.locator(".note.failed")).to_contain_text("Not sent")
    await expect(composer).to_have_value("important")
    assert "ERR_FAILED" in wrong.pop()
    await page.unroute("**/control/message")
    await page.keyboard.press("Enter")
    await expect(page.get_by_test_id("message")).to_contain_text("important")


async def test_the_page_finds_back_to_a_stand_in_that_restarted(browser: Browser) -> None:
    async with SlackStandIn() as first:
        page = await visit(browser, first)
        await page.get_by_test_id("composer").fill("draft")
        port = first.port
    await expect(page.get_by_test_id("status")).to_have_text("Reconnecting…")
    await expect(page.locator(".lost-banner")).to_be_visible()
    async with SlackStandIn(port=port) as second:
        await expect(page.get_by_test_id("status")).to_contain_text("Live", timeout=10_000)
        second.workspace.post(second.workspace.channel("sales"), user=seed.BEN.id, text="we are back")
        await page.locator("[data-channel=sales]").click()
        await expect(page.get_by_test_id("message")).to_contain_text("we are back")
        await page.close()


async def test_a_modal_whose_app_fails_says_so_and_keeps_what_was_typed(
    page: Page, client: AsyncWebClient, slack: SlackStandIn
) -> None:
    view = modal(asked("why", {"type": "plain_text_input", "action_id": "why"}), callback_id="unknown")
    await client.views_open(trigger_id=slack.workspace.issue_trigger(seed.ANN.id), view=view)
    typed = page.get_by_test_id("modal").get_by_role("textbox")
    await typed.fill("too many bounces")
    await page.get_by_test_id("modal-submit").click()
    await expect(page.get_by_test_id("modal-error")).to_be_visible()
    await expect(typed).to_have_value("too many bounces")


async def test_what_arrives_while_a_channel_is_being_opened_is_shown(
    page: Page, client: AsyncWebClient
) -> None:
    """The history is read before the message is posted, and shown after it was heard of."""
    read, posted = asyncio.Event(), asyncio.Event()

    async def late(route: Route) -> None:
        answer = await route.fetch()
        read.set()
        await posted.wait()
        await route.fulfill(response=answer)

    await page.route("**/control/messages?**", late)
    await page.keyboard.press("Alt+ArrowDown")
    await read.wait()
    await client.chat_postMessage(channel=seed.SALES, text="in between")
    message = page.get_by_test_id("message").filter(has_text="in between")
    await expect(message).to_be_visible()
    async with page.expect_response("**/control/messages?**"):
        posted.set()
    await page.unroute("**/control/messages?**")
    await expect(page.get_by_test_id("composer")).to_be_focused()
    await expect(message).to_be_visible()
