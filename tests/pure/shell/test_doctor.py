"""The doctor's verdicts on the clock and on the scopes of a token."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.slack.manifest import SCOPES
from cli.doctor import BAD, GOOD, WARN, clock, scopes
from sandbox.slack.web_api.methods import METHODS

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(("seconds", "status"), [(0, GOOD), (-4, GOOD), (30, WARN), (-300, BAD)])
def test_a_wrong_clock_is_reported(seconds: int, status: str) -> None:
    now = datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert clock(now - timedelta(seconds=seconds), now=now).status == status


@pytest.mark.parametrize(
    ("held", "status", "says", "fix"),
    [
        (["commands", "chat:write"], BAD, "channels:history", "Update the app"),
        ([], WARN, "Slack didn't list them", "Compare"),
        ([*SCOPES, "files:write"], GOOD, "granted", ""),
        (
            [scope for scope in SCOPES if scope != "chat:write.public"],
            WARN,
            "it posts only in channels it was invited to",
            "Update the app",
        ),
    ],
)
def test_missing_scopes_are_named_with_their_effect(
    held: list[str], status: str, says: str, fix: str
) -> None:
    found = scopes(held)
    assert found.status == status
    assert says in found.found
    assert fix in found.fix


def test_every_method_that_the_bot_calls_is_covered_by_a_scope_of_the_manifest() -> None:
    files = (file for room in ("bot", "shared") for file in (ROOT / room).rglob("*.py"))
    source = "".join(file.read_text() for file in files)
    called = {name for name in METHODS if f'"{name}"' in source}
    assert {"chat.postMessage", "chat.update", "conversations.history", "views.publish"} <= called
    needed = {
        scope for name in called for scope in (METHODS[name].scope, METHODS[name].channel_scope) if scope
    }
    assert needed <= set(SCOPES)
