"""The Slack page in a real browser: a person's whole day, by mouse and by keyboard, hostile mail included."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.slack import seed
from sandbox.slack.server import SlackStandIn
from sandbox.slack.settings import Shortcut
from sandbox.slack.views import top_view
from tests.e2e.slack_page.page_bot import card, visit

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120), pytest.mark.asyncio(loop_scope="module")]


async def test_a_command_is_typed_with_the_keyboard_alone(page: Page) -> None:
    await page.keyboard.press("/")
    await expect(page.get_by_test_id("autocomplete")).to_contain_text("/outreach")
    await page.keyboard.press("Enter")
    await page.keyboard.type("sta")
    await expect(page.get_by_test_id("autocomplete")).to_be_hidden()  # Slack completes no words of a command
    await page.keyboard.type("tus")
    await page.keyboard.press("Enter")
    answer = page.get_by_test_id("ephemeral")
    await expect(answer).to_contain_text("Only visible to you")
    await expect(answer.locator("strong")).to_have_text("status")


async def test_a_sent_message_scrolls_into_view(page: Page, client: AsyncWebClient) -> None:
    for number in range(60):
        await client.chat_postMessage(channel=seed.ALERTS, text=f"number {number}")
    await expect(page.get_by_text("number 59", exact=True)).to_be_visible()
    for text, shown in (("mine", "mine"), ("/outreach status", "You said")):
        await page.get_by_test_id("timeline").evaluate("node => { node.scrollTop = 0; }")
        await page.get_by_test_id("composer").fill(text)
        await page.keyboard.press("Enter")
        await expect(page.get_by_text(shown).last).to_be_in_viewport()


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
    await expect(page.get_by_test_id("ephemeral")).to_have_count(1)
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
    await expect(row).to_contain_text("ms")
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
    await page.keyboard.type("outreach form")
    await page.keyboard.press("Escape")
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
