"""The page shows text in any direction and tables, and all of it can be reached."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.slack import seed
from sandbox.slack.server import SlackStandIn
from tests.e2e.slack_page.page_bot import card, visit
from tests.sandbox.slack.driver import (
    Json,
    actions,
    button,
    plain,
    section,
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120), pytest.mark.asyncio(loop_scope="module")]


async def test_each_paragraph_has_its_own_direction(page: Page, client: AsyncWebClient) -> None:
    await client.chat_postMessage(
        channel=seed.ALERTS, text="x", blocks=[section("שלום, כן"), section("> مرحبا")]
    )
    await expect(page.get_by_text("שלום")).to_be_visible()
    for kind in (".said", "blockquote"):
        styles = await page.locator(kind).last.evaluate(
            "node => [getComputedStyle(node).unicodeBidi, getComputedStyle(node).textAlign]"
        )
        assert styles == ["plaintext", "start"]
    box = await page.get_by_text("שלום").last.evaluate(
        "node => { const range = document.createRange(); range.selectNodeContents(node);"
        " return [range.getBoundingClientRect().left, node.closest('.body').getBoundingClientRect().left]; }"
    )
    assert box[0] > box[1] + 100, "it begins at the right"


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
    def cell(value: str | int) -> Json:
        if isinstance(value, str):
            return {"type": "raw_text", "text": value}
        return {"type": "raw_number", "value": value, "text": str(value)}

    rows = [[cell("Group"), cell("Sends")], *([cell(f"g{n}"), cell(n * 7 % 10)] for n in range(10))]
    blocks: list[Json] = [
        {"type": "data_table", "caption": "Groups", "page_size": 4, "rows": rows},
    ]
    await client.chat_postMessage(channel=seed.ALERTS, text="x", blocks=blocks)
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
