"""The page while something is late, gone or wrong."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import Browser, Page, Route, expect
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.slack import seed
from sandbox.slack.server import SlackStandIn
from tests.e2e.slack_page.page_bot import card, visit
from tests.sandbox.slack.driver import (
    asked,
    modal,
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120), pytest.mark.asyncio(loop_scope="module")]


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
