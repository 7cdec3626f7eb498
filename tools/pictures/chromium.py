"""Draws the Slack stand-in's page with the bot's messages, in chromium."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

from playwright.async_api import Browser, Locator, Page, async_playwright
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.clock import Clock
from sandbox.slack import seed
from sandbox.slack.server import SlackStandIn
from sandbox.slack.settings import Settings
from tests.e2e.browser import chromium
from tests.kit.commands import NOW
from tools.pictures.dashboard import recording
from tools.pictures.slack import Shown

CHANNEL, MOMENT, HOME = (1160, 700), (1010, 470), (1160, 990)
"""Sizes of a channel, of a moment of a recording, and of Home."""
SIDEBAR = 251
DOTS = """() => {
  const colors = {"🟢": "#2e9e5b", "🟠": "#e8912d", "🔴": "#d64545", "⚪": "#b8b8b8"};
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
  while (walk.nextNode()) if (/[🟢🟠🔴⚪]/u.test(walk.currentNode.data)) found.push(walk.currentNode);
  for (const node of found) {
    const parts = node.data.split(/([🟢🟠🔴⚪])/u).map((part) => {
      if (!(part in colors)) return part;
      const dot = document.createElement("span");
      dot.style = `display:inline-block;width:.8em;height:.8em;border-radius:50%;background:${colors[part]}`;
      return dot;
    });
    node.replaceWith(...parts);
  }
}"""
"""Draws colored circles as such, since many machines have no font for them."""


def is_installed() -> bool:
    return Path(str(chromium()["executable_path"])).exists()


async def draw(folder: Path, pictures: Mapping[str, Sequence[Shown]]) -> None:
    """Write the pictures to the folder; several moments are a recording."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(**chromium())
        for file, shown in pictures.items():
            frames = [await _drawn(browser, one, moving=file.endswith(".svg")) for one in shown]
            (folder / file).write_bytes(frames[0] if file.endswith(".png") else _in_turn(frames))
        await browser.close()


async def _drawn(browser: Browser, shown: Shown, *, moving: bool) -> bytes:
    width, height = HOME if shown.home else MOMENT if moving else CHANNEL
    context = await browser.new_context(
        viewport={"width": width, "height": height}, timezone_id="UTC", locale="en-GB"
    )
    page = await context.new_page()
    # Times of messages and “today” would differ at each drawing.
    await page.clock.set_fixed_time(NOW)
    left = SIDEBAR if moving else 0
    async with _opened(page, shown):
        drawn = await page.screenshot(clip={"x": left, "y": 0, "width": width - left, "height": height})
    await context.close()
    return drawn


@asynccontextmanager
async def _opened(page: Page, shown: Shown) -> AsyncIterator[None]:
    moments = count()  # each look at the clock is a millisecond later: messages keep their order
    clock = Clock(source=lambda: NOW.timestamp() + next(moments) / 1000)
    async with SlackStandIn(settings=Settings(request_url=None, messages_per_second=0), clock=clock) as slack:
        connection = slack.announcement
        # By the Web API, as the bot posts: the stand-in refuses what Slack would refuse.
        client = AsyncWebClient(token=connection["slack_bot_token"], base_url=connection["slack_api_url"])
        for message in shown.messages:
            await client.chat_postMessage(channel=seed.ALERTS, text=message.text, blocks=message.blocks)
        if shown.home:
            await client.views_publish(user_id=seed.ANN.id, view=dict(shown.home))
        await page.goto(f"{slack.origin}/?still#ann/{'home' if shown.home else 'outreach-alerts'}")
        # The page draws as its events come in: the last one shows that it is whole.
        await _seen(page, shown).wait_for()
        await page.evaluate(DOTS)
        yield


def _seen(page: Page, shown: Shown) -> Locator:
    """Return the part of the page that appears last."""
    return page.get_by_role("button", name="Claim").first if shown.home else page.locator("main time").last


def _in_turn(frames: list[bytes]) -> bytes:
    width, height = MOMENT[0] - SIDEBAR, MOMENT[1]
    pictures = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">'
        f'<image width="{width}" height="{height}" href="data:image/png;base64,{base64.b64encode(frame).decode()}"/></svg>'
        for frame in frames
    ]
    return f"{recording(pictures)}\n".encode()
