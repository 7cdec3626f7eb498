"""The dashboard in a real browser, through a restart of the process that serves it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, WebSocket, expect, sync_playwright

from tests.e2e.browser import chromium
from tests.processes import running
from tests.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(150)]
ROOT = Path(__file__).parents[2]
SECONDS = 45_000
ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")


@contextmanager
def serving(folder: Path, *, port: int) -> Iterator[Iterator[str]]:
    """`outreach dashboard --web`, whose service does not answer, and the links that it prints."""
    (folder / "outreach.toml").touch()
    environ = {name: value for name, value in os.environ.items() if not name.startswith("OUTREACH_")}
    environ |= {
        "OUTREACH_CONFIG": str(folder / "outreach.toml"),
        "OUTREACH_BASE_URL": "http://127.0.0.1:9/v1",
        "OUTREACH_API_KEY": "live_test",
        "OUTREACH_STATE_DIR": str(folder),
    }
    words = ["dashboard", "--web", "--port", str(port)]
    command = [sys.executable, "-P", "-m", "outreach_ops", *words]
    with running(command, number=signal.SIGINT, cwd=ROOT, env=environ, stdout=subprocess.PIPE) as process:
        assert process.stdout
        yield (re.findall(r"http://\S+", line)[0] for line in process.stdout)


@pytest.fixture
def browser() -> Iterator[BrowserContext]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(**chromium())
        yield launched.new_context()
        launched.close()


class Screen:
    """What the viewers of a page have been sent."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.addresses: list[str] = []
        self._seen = b""
        page.on("websocket", self._opened)

    def _opened(self, opened: WebSocket) -> None:
        self.addresses.append(opened.url)
        self._seen = b""
        opened.on("framereceived", self._received)

    def _received(self, frame: bytes | str) -> None:
        self._seen += frame if isinstance(frame, bytes) else b""

    def until(self, text: bytes) -> None:
        def is_shown() -> bool:
            self._page.wait_for_timeout(50)  # the page's events arrive meanwhile
            return text in ESCAPES.sub(b"", self._seen)

        wait_until(is_shown, seconds=45, what=str(text))


def test_a_page_opens_again_after_a_restart_and_a_link_works_once(
    tmp_path: Path, browser: BrowserContext
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    page = browser.new_page()
    screen = Screen(page)
    with serving(tmp_path, port=port) as links:
        link = next(links)
        page.goto(f"{link}&rotate=20")
        screen.until(b"press any key to return to the board")
        assert "/ws/rotate/20" in screen.addresses[-1]
        assert "token" not in page.url
        assert next(links) != link, "a link for the next browser"
    ended = page.locator(".closed")
    expect(ended).to_be_visible(timeout=SECONDS)
    with serving(tmp_path, port=port) as links:
        next(links)
        expect(ended).to_be_hidden(timeout=SECONDS)
        screen.until(b"press any key to return to the board")
        stranger = page.context.browser
        assert stranger
        refused = stranger.new_context().new_page().goto(link)
        assert refused
        assert refused.status == 403
