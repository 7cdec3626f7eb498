"""Slack takes each card, answer, modal and Home view that the bot shows, in every state."""

from __future__ import annotations

from datetime import UTC, datetime

from sandbox.slack import blockkit
from sandbox.slack.views import view_problems
from tests.bot.interactions.specimens import specimens

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_every_specimen_is_one_that_slack_takes() -> None:
    found = list(specimens(NOW))
    assert len({one.name for one in found}) == len(found) > 60
    for one in found:
        if one.blocks is not None:
            assert blockkit.problems(one.blocks) == [], one.name
        elif one.view is not None:
            assert view_problems(one.view, kind=one.view["type"]) == [], one.name
