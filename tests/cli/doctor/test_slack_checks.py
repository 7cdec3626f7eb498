"""The doctor has Slack check the manifest and its scopes."""

from __future__ import annotations

from pathlib import Path

from bot.slack.manifest import SCOPES
from cli.doctor.slack import scopes
from sandbox.slack.web_api.methods import METHODS
from shared.domain.card import Tone

ROOT = Path(__file__).parents[3]


def test_scopes_that_nothing_uses_are_named() -> None:
    found = scopes([*SCOPES, "files:write"])
    assert found.tone is Tone.GOOD
    assert "unused: files:write" in found.found


def test_every_method_that_the_bot_calls_is_covered_by_a_scope_of_the_manifest() -> None:
    files = (file for room in ("bot", "shared") for file in (ROOT / room).rglob("*.py"))
    source = "".join(file.read_text() for file in files)
    called = {name for name in METHODS if f'"{name}"' in source}
    assert {"chat.postMessage", "chat.update", "conversations.history", "views.publish"} <= called
    needed = {
        scope for name in called for scope in (METHODS[name].scope, METHODS[name].channel_scope) if scope
    }
    assert needed <= set(SCOPES)
