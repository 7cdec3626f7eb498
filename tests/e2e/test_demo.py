"""The demo from a clone on: real processes, watched from outside."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from tests.e2e.browser import chromium
from tests.e2e.conftest import ROOT, Demo, headless_demo
from tests.kit import network_log
from tests.kit.processes import left_of
from tests.kit.waiting import wait_until
from tests.shared.storage import grant_log
from tests.shared.storage.grant_log import WRITE_GRANTS, GrantLog

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

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
    with headless_demo("--for", "15") as demo:
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


def test_an_interested_reply_arrives_within_a_minute(demo: Demo) -> None:
    def interested() -> bool:
        return any("nterested" in message["text"] for message in demo.messages())

    assert wait_until(interested, seconds=60, what="an interested reply in the alert channel")


def test_no_answer_is_wider_than_a_phone_and_help_fits_two_screens(demo: Demo) -> None:
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


def test_no_child_outlives_a_demo_that_is_killed() -> None:
    with headless_demo() as demo:
        demo.process.kill()
        demo.process.wait()
        assert left_of(demo.family) == []
