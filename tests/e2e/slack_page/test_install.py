"""The install of an app in a browser: Slack's page with Allow, and back to the app."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Page, async_playwright, expect

from tests.bot.slack.oauth import SECOND, Installed, oauth_bot, oauth_harness
from tests.e2e.browser import chromium

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]


@pytest.fixture
async def installed(tmp_path: Path) -> AsyncIterator[Installed]:
    async with oauth_harness(tmp_path) as bot, oauth_bot(bot) as running:
        yield running


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(**chromium())
        opened = await browser.new_page()
        opened.set_default_timeout(15_000)
        yield opened
        await browser.close()


async def test_a_person_installs_the_bot_by_a_click_on_allow(installed: Installed, page: Page) -> None:
    await page.goto(f"{installed.bot.url}/slack/install")
    asked = page.locator("form", has_text="Northwind Partners")
    await asked.get_by_role("button", name="Allow", exact=True).click()
    await expect(page.locator("body")).to_contain_text(f"outreach slack-workspaces grant {SECOND}")
    assert [team.id for team in await installed.teams.all()] == [SECOND]


async def test_a_page_elsewhere_can_not_press_allow(installed: Installed, page: Page) -> None:
    at_slack = await installed.browser.begin()
    await page.goto(f"{installed.bot.url}/healthz")
    await page.set_content(
        f'<form method="post" action="{at_slack.replace("&", "&amp;")}"><input name="team" value="{SECOND}">'
        '<button name="decision" value="allow">Go</button></form>'
    )
    await page.get_by_role("button").click()
    await expect(page.locator("body")).to_contain_text("wrong_origin")
    assert await installed.teams.all() == []
