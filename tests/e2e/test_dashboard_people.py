"""The dashboard in real browsers of several people: on a phone and a desk, as viewer and operator."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, async_playwright, expect

from cli.console.resources import open_records
from sandbox.service import Service
from shared.api import OutreachClient
from shared.operations.context import open_client
from shared.settings import load
from tests.e2e.browser import chromium
from tests.waiting import until
from tui.entrypoints import web

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]
MILLISECONDS = 45_000
PEOPLE = """
[dashboard.web.people]
ann = "operator"
"ben@example.com" = "viewer"
"""
ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")
SHOWN = re.compile(r"^[◆▲●?·] .* · Outreach$")
"""The title, once the first look is shown."""


class Shown:
    """What the viewer of a page has been sent."""

    def __init__(self, page: Page) -> None:
        self._seen = b""
        page.on("websocket", lambda opened: opened.on("framereceived", self._receive))

    def _receive(self, frame: bytes | str) -> None:
        self._seen += frame if isinstance(frame, bytes) else b""

    async def until(self, text: str) -> None:
        """Wait for words after those that were waited for before."""
        await until(lambda: text.encode() in ESCAPES.sub(b"", self._seen), seconds=45)
        self._seen = b""


async def sign_in(browser: Browser, link: str, *, width: int, touch: bool = False) -> tuple[Page, Shown]:
    context = await browser.new_context(
        viewport={"width": width, "height": 844}, has_touch=touch, is_mobile=touch
    )
    page = await context.new_page()
    shown = Shown(page)
    await page.goto(link.partition("?")[0])
    await expect(page).to_have_title("Sign in · Outreach")
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
    await page.fill("input[name=link]", link)
    await page.click("button")
    await expect(page).to_have_title(SHOWN, timeout=MILLISECONDS)
    await shown.until("INBOXES")
    return page, shown


async def paused(client: OutreachClient) -> set[str]:
    return {one.id for one in await client.list_sequences() if one.status == "paused"}


async def test_an_operator_pauses_in_their_name_and_a_viewer_on_a_phone_looks(
    tmp_path: Path, account: str
) -> None:
    config = tmp_path / "outreach.toml"
    config.write_text(PEOPLE)
    config.chmod(0o600)
    stop, links = asyncio.Event(), dict[str, str]()
    async with Service(database=account, speed=0) as service, async_playwright() as playwright:
        service.state.limiter.change("off")
        environ = {
            "OUTREACH_BASE_URL": service.base_url,
            "OUTREACH_API_KEY": next(iter(service.api_keys.values())),
            "OUTREACH_STATE_DIR": str(tmp_path),
            "OUTREACH_POLL_SECONDS": "2",
        }
        settings = load(config=config, environ=environ)
        serving = asyncio.create_task(
            web.serve(
                settings,
                port=0,
                stop=stop,
                announce=lambda link, name: links.setdefault(name, link),
                open_records=open_records,
            )
        )
        async with open_client(settings, settings.workspace()) as client:
            before = await paused(client)
        browser = await playwright.chromium.launch(**chromium())
        await until(lambda: len(links) == 2)

        phone, _ = await sign_in(browser, links["ben@example.com"], width=390, touch=True)
        assert await phone.evaluate("document.documentElement.scrollWidth") == 390
        canvas = await phone.locator("canvas").first.bounding_box()
        bar = await phone.locator("footer").bounding_box()
        assert canvas
        assert bar
        assert canvas["y"] + canvas["height"] <= bar["y"] + 1, "no line is behind the keys"
        assert canvas["width"] <= 390
        columns = 390 / (0.6 * float(await phone.locator("#terminal").get_attribute("data-font-size") or 0))
        assert columns >= 60
        for key in await phone.locator("[data-keys]").all():
            box = await key.bounding_box()
            assert box
            assert min(box["width"], box["height"]) >= 44
        await expect(phone.locator(".person span")).to_have_text("ben@example.com · viewer")
        await phone.keyboard.type("2py")

        desk, shown = await sign_in(browser, links["ann"], width=1280)
        await expect(desk.locator("[data-keys]").first).to_be_hidden()
        await desk.keyboard.press("2")
        await desk.keyboard.press("p")
        await shown.until("It stops sending")
        await desk.keyboard.press("y")
        await shown.until("is paused. Press u to undo.")
        async with open_client(settings, settings.workspace()) as client:
            assert len(await paused(client) - before) == 1
        async with open_records(settings) as records:
            entries = await records.audit(settings.workspace().name, limit=10)
        assert [(one.actor.name, one.actor.face) for one in entries] == [("ann", "web")], (
            "the viewer changed nothing"
        )

        await phone.tap("text=Sign out")
        await expect(phone).to_have_title("Sign in · Outreach", timeout=MILLISECONDS)
        await browser.close()
        stop.set()
        await serving
