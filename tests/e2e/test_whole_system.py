"""The demo as a person has it: the dashboard in a real terminal, the Slack page in a real browser."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.e2e.browser import chromium
from tests.e2e.conftest import ROOT
from tests.kit.processes import left_of
from tests.kit.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

STARTED_WITHIN = 300.0
"""An idle machine needs five seconds; other tests run beside it."""


class Terminal:
    """A tmux session of its own with one program in it."""

    def __init__(self, command: str, *, folder: Path) -> None:
        self.folder = folder
        self._socket = str(folder / "tmux")
        settings = folder / "tmux.conf"
        settings.write_text("set-option -g remain-on-exit on\n")  # what it said at its end can be read
        self.tmux("-f", str(settings), "new-session", "-d", "-x", "160", "-y", "50", command)
        try:
            self.pid = int(self.tmux("display-message", "-p", "#{pane_pid}"))
        except BaseException:
            self.close()
            raise

    def tmux(self, *words: str) -> str:
        # The snapshot plugin fixes the size of every terminal by these two.
        env = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}
        env["TMPDIR"] = str(self.folder)  # a demo keeps its logs there
        done = subprocess.run(
            ["tmux", "-S", self._socket, *words], env=env, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p")

    def press(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)

    def close(self) -> None:
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], capture_output=True, check=False)


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    command = f"cd {shlex.quote(str(ROOT))} && exec {shlex.quote(sys.executable)} -P -m outreach_ops demo"
    opened = Terminal(command, folder=tmp_path_factory.mktemp("tmux"))
    try:
        yield opened
    finally:
        opened.close()


@pytest.fixture(scope="module")
def page(terminal: Terminal) -> Iterator[Page]:
    """The Slack page whose address the dashboard shows."""
    found = wait_until(
        lambda: re.search(r"http://127\.0\.0\.1:\d+/", terminal.screen()),
        seconds=STARTED_WITHIN,
        what="its address",
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**chromium())
        opened = browser.new_page()
        opened.goto(found[0])
        yield opened
        browser.close()


def expect_seen(terminal: Terminal, pattern: str, *, within: float = STARTED_WITHIN) -> None:
    """Wait until a line of the screen fits."""
    wait_until(
        lambda: re.search(pattern, terminal.screen()),
        seconds=within,
        what=f"{pattern} on the screen",
        show=terminal.screen,
    )


def test_the_dashboard_shows_the_account_within_seconds(terminal: Terminal) -> None:
    expect_seen(terminal, "acme-mail.example +healthy")
    terminal.press("2")
    expect_seen(terminal, "active +Manufacturing DACH")


def test_a_pause_typed_on_the_page_is_seen_on_the_dashboard(terminal: Terminal, page: Page) -> None:
    composer = page.get_by_test_id("composer")
    composer.click()
    composer.press_sequentially("/outreach pause Manufacturing DACH")
    composer.press("Enter")
    expect(page.get_by_test_id("message").filter(has_text="Manufacturing DACH").last).to_be_visible(
        timeout=10_000
    )
    expect_seen(terminal, "paused +Manufacturing DACH")


def test_a_click_on_undo_resumes_it(terminal: Terminal, page: Page) -> None:
    page.get_by_test_id("button").filter(has_text=re.compile("Undo|Resume")).last.click()
    expect_seen(terminal, "active +Manufacturing DACH")


def test_an_interested_reply_is_claimed_with_one_click(page: Page) -> None:
    card = page.get_by_test_id("message").filter(has_text="is interested").last
    expect(card).to_be_visible(timeout=60_000)
    claimed = page.get_by_test_id("message").filter(has_text="claimed by @")
    before = claimed.count()
    card.locator('[data-text="Claim"]').click()
    expect(claimed).to_have_count(before + 1, timeout=10_000)


def test_claim_and_reply_claims_and_leads_to_the_mail_program(page: Page) -> None:
    card = page.get_by_test_id("message").filter(has_text="is interested").last
    expect(card).to_be_visible(timeout=90_000)
    claimed = page.get_by_test_id("message").filter(has_text="claimed by @")
    before = claimed.count()
    with page.context.expect_event("response", lambda one: "/reply/" in one.url, timeout=10_000) as answer:
        card.locator('[data-text="Claim & reply"]').click()
    expect(claimed).to_have_count(before + 1, timeout=10_000)
    assert answer.value.status == 302
    assert answer.value.headers["location"].startswith("mailto:")


def test_quitting_leaves_no_process_behind(terminal: Terminal) -> None:
    family = [psutil.Process(terminal.pid), *psutil.Process(terminal.pid).children(recursive=True)]
    assert len(family) >= 3, "the demo, the sandbox and the bot"
    terminal.press("q")
    assert left_of(family) == []


def test_a_terminal_that_is_taken_away_ends_the_demo(tmp_path: Path) -> None:
    command = f"cd {shlex.quote(str(ROOT))} && exec {shlex.quote(sys.executable)} -P -m outreach_ops demo"
    terminal = Terminal(command, folder=tmp_path)
    try:
        expect_seen(terminal, "acme-mail.example +healthy")
        family = [psutil.Process(terminal.pid), *psutil.Process(terminal.pid).children(recursive=True)]
    finally:
        terminal.close()
    assert left_of(family) == []
