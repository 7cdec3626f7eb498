"""The demo: its story, real processes watched from outside, and what a person has: a real terminal, a real browser."""

from __future__ import annotations

import os
import re
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.e2e.browser import chromium
from tests.e2e.conftest import PROGRAM, ROOT, START_SECONDS, Announced, Terminal, headless_demo
from tests.faults.rate import grant_log
from tests.faults.rate.grant_log import WRITE_GRANTS, GrantLog
from tests.kit import network_log
from tests.kit.processes import left_of
from tests.kit.waiting import wait_until

WIDTH, HEIGHT = 390, 844
"""A phone's screen."""
ANSWERS = (
    "status",
    "sequences",
    "sequences paused",
    "inboxes",
    "inboxes unhealthy",
    "stats",
    "stats by step",
    "stats by inbox",
    "stats by person",
    "leads",
    "replies",
    "subscriptions",
    "digest now",
    "guardrails",
    "audit",
    "whoami",
    "help pause",
    "doctor",
    "help",
)
TOO_WIDE = """() => [...document.querySelectorAll('.app, .content, .block, .scroll, .row')]
    .filter(one => one.scrollWidth > one.clientWidth + 1)
    .map(one => `${one.className}: ${one.scrollWidth} > ${one.clientWidth}, ${one.textContent.slice(0, 60)}`)"""


def test_a_short_demo_loses_nothing_says_so_and_leaves_nothing_and_not_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, grants, sent = tmp_path / "state", GrantLog(tmp_path / "grants"), tmp_path / "addresses"
    state.mkdir()
    (tmp_path / "sitecustomize.py").write_text(WRITE_GRANTS + network_log.WRITE_ADDRESSES)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{ROOT}")
    monkeypatch.setenv(grant_log.VARIABLE, str(tmp_path / "grants"))
    monkeypatch.setenv(network_log.VARIABLE, str(sent))
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    with headless_demo("--for", "8") as demo:
        code, out = demo.wait_for_exit()
        resolver, _ = (tuple(one.split(":")) for one in demo.announced["dns_resolvers"])
    assert code == 0, out
    assert re.search(r"alerts +\d+ of \d+ posted, 0 lost, 0 doubled", out)
    ((throttled, most),) = re.findall(r"of them 429: (\d+), most in one second: (\d+)", out)
    assert 0 < grants.worst_second() <= 10
    assert throttled == "0" or int(most) > 10, (
        "a busy machine delayed requests, so that too many arrived together"
    )
    assert left_of(demo.family, seconds=0) == []
    assert list(state.iterdir()) == []
    addresses = network_log.addresses(sent)
    assert resolver in addresses, "the bot asked for the DNS of its domains"
    assert [one for one in addresses if not network_log.stays(one[0])] == []


def test_no_answer_is_wider_than_a_phone_and_help_fits_two_screens(demo: Announced) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**chromium())
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        for place in ("sales", "outreach-alerts"):
            page.goto(f"{demo.announced['slack_page']}#ann/{place}")
            page.reload()
            page.wait_for_selector("[data-state=live]")
            for command in ANSWERS if place == "sales" else ():
                assert demo.type(f"/outreach {command}") != "[]", command
            page.wait_for_selector(".content .block")
            assert page.evaluate(TOO_WIDE) == []
            if place == "sales":
                help_screen = page.get_by_test_id("ephemeral").last.bounding_box()
                assert help_screen
                assert help_screen["height"] < 2 * HEIGHT
        browser.close()


def test_a_bot_killed_in_mid_burst_posts_every_alert_once() -> None:
    with headless_demo() as demo:
        demo.slack("settings", {"messages_per_second": 0})
        before = len(demo.messages())
        slow = {"method": "chat.postMessage", "kind": "delay", "delay": 0.5, "times": None}
        demo.slack("faults", slow)  # so that most of the burst still waits
        demo.control("/events", {"workspace": "acme", "kind": "reply.interested", "count": 25})
        wait_until(lambda: len(demo.messages()) > before, seconds=60, what="the burst has begun")
        os.kill(demo.announced["bot_pid"], signal.SIGKILL)
        demo.slack("faults", {"clear": True})
        wait_until(
            lambda: len(demo.slack("summary")["alerts"]) >= 25, seconds=60, what="the rest after the restart"
        )
        code, out = demo.end()
    assert code == 0, out
    assert re.search(r"alerts +\d+ of \d+ posted, 0 lost, 0 doubled", out)
    assert re.search(r"bot restarts +1", out)


def test_no_child_outlives_a_demo_that_is_killed(demo: Announced) -> None:
    """The last test of the module's demo."""
    demo.process.kill()
    demo.process.wait()
    assert left_of(demo.family) == []


pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    opened = Terminal(shlex.join([*PROGRAM, "demo"]), folder=tmp_path_factory.mktemp("tmux"))
    try:
        yield opened
    finally:
        opened.close()


@pytest.fixture(scope="module")
def page(terminal: Terminal) -> Iterator[Page]:
    """The Slack page whose address the dashboard shows."""
    found = wait_until(
        lambda: re.search(r"http://127\.0\.0\.1:\d+/", terminal.text()),
        seconds=START_SECONDS,
        what="its address",
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**chromium())
        opened = browser.new_page()
        opened.goto(found[0])
        yield opened
        browser.close()


def test_the_dashboard_shows_the_account_within_seconds(terminal: Terminal) -> None:
    assert terminal.until("acme-mail.example +healthy")
    terminal.press("2")
    assert terminal.until("active +Manufacturing DACH")


def test_a_pause_typed_on_the_page_is_seen_on_the_dashboard(terminal: Terminal, page: Page) -> None:
    composer = page.get_by_test_id("composer")
    composer.click()
    composer.press_sequentially("/outreach pause Manufacturing DACH")
    composer.press("Enter")
    expect(page.get_by_test_id("message").filter(has_text="Manufacturing DACH").last).to_be_visible(
        timeout=10_000
    )
    terminal.until("paused +Manufacturing DACH")


def test_a_click_on_undo_resumes_it(terminal: Terminal, page: Page) -> None:
    page.get_by_test_id("button").filter(has_text=re.compile("Undo|Resume")).last.click()
    assert terminal.until("active +Manufacturing DACH")


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
    terminal = Terminal(shlex.join([*PROGRAM, "demo"]), folder=tmp_path)
    try:
        terminal.until("acme-mail.example +healthy")
        family = [psutil.Process(terminal.pid), *psutil.Process(terminal.pid).children(recursive=True)]
    finally:
        terminal.close()
    assert left_of(family) == []
