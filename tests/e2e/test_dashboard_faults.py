"""The real dashboard in a real terminal, under the faults of an unkind world, in their short form."""

from __future__ import annotations

import re
import time
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from tests.e2e.test_dashboard_terminal import Sandbox, Screen, open_sandbox, sandbox, screen, service

pytestmark = pytest.mark.e2e
__all__ = ["sandbox", "screen", "service"]


def test_a_slow_service_is_shown_and_the_keys_still_work(sandbox: Sandbox, screen: Screen) -> None:
    screen.until("at risk|healthy")
    sandbox.control("faults", {"delay": 40.0, "times": None})
    screen.until("late:")
    screen.until("slow to respond")
    screen.until("data from")
    screen.press("2")
    screen.until("▌SEQUENCES", seconds=25)  # and not when the service answers
    sandbox.control("faults", method="DELETE")
    assert "late:" not in screen.until("stale|late:", absent=True)


def test_a_service_that_wants_silence_is_obeyed_and_the_seconds_are_counted_down(
    sandbox: Sandbox, screen: Screen
) -> None:
    screen.until("at risk|healthy")
    sandbox.control("faults", {"status": 429, "retry_after": "9", "times": None})
    message = screen.until(r"429: paused for \d+ s")
    first = _silent_for(message)
    assert _silent_for(screen.until(rf"429: paused for (?!{first} )\d+ s")) != first
    sandbox.control("faults", method="DELETE")
    screen.until("429: paused", absent=True)
    screen.until("late:|stale", absent=True)


def _silent_for(text: str) -> int:
    return int(re.findall(r"429: paused for (\d+) s", text)[0])


def test_ten_thousand_inboxes_are_shown_walked_through_and_filtered(tmp_path: Path) -> None:
    with open_sandbox(inboxes=10_000) as sandbox, closing(Screen(sandbox, folder=tmp_path)) as screen:
        screen.until("of 10,000 inboxes")
        before = screen.until("DOMAINS")
        screen.press("End")
        screen.until(re.escape(before), absent=True)
        screen.press("Enter")
        screen.until("▌INBOXES")
        assert psutil.Process(screen.pid).memory_info().rss < 200 * 2**20


def test_a_damaged_history_is_set_aside_said_and_begun_anew(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "outreach-history.db").write_bytes(b"this is no database\n" * 1000)
    with closing(Screen(sandbox, folder=tmp_path)) as screen:
        screen.until("It was moved to outreach-history.db.damaged-")
        screen.until("at risk|healthy|not sending")
        for _ in range(3):  # the account's own alarms come first
            screen.press("a")
            time.sleep(1)
        assert "DOMAINS" in screen.text()
    assert (tmp_path / "outreach-history.db").read_bytes().startswith(b"SQLite format 3")
    assert list(tmp_path.glob("*.damaged-*"))


@pytest.mark.parametrize("kind", ["TERM=linux", "TERM=xterm-16color", "NO_COLOR=1", "LC_ALL=C PYTHONUTF8=0"])
def test_poorer_terminals_show_the_same_words(sandbox: Sandbox, tmp_path: Path, kind: str) -> None:
    environ = dict(pair.split("=") for pair in kind.split())
    with closing(Screen(sandbox, folder=tmp_path, environ=environ)) as screen:
        message = screen.until("at risk|healthy")
        assert "DOMAINS" in message
        if "LC_ALL" in kind:
            assert message.isascii()
        assert psutil.Process(screen.pid).is_running()


def test_a_window_that_is_drawn_about_wildly_ends_up_right(screen: Screen, tmp_path: Path) -> None:
    screen.until("DOMAINS")
    for number in range(60):
        screen.resize(1 + number * 53 % 250, 1 + number * 31 % 70)
    screen.resize(160, 50)
    message = screen.until("INBOXES OF")
    assert "Internal error" not in message
    assert "Traceback" not in (tmp_path / "dashboard.log").read_text()
