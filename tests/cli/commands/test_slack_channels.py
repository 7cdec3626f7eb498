"""A channel named in a shell is checked as in Slack, or the answer says that nobody checked it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.conftest import Shell


@pytest.fixture
def slack(shell: Shell, sandbox: dict[str, Any]) -> Shell:
    """A shell with the bot token of the sandbox's Slack."""
    shell.set("SLACK_BOT_TOKEN", sandbox["slack_bot_token"])
    shell.set("SLACK_API_URL", sandbox["slack_api_url"])
    return shell


@pytest.mark.parametrize("words", [("subscribe", "lead.bounced"), ("digest", "at", "09:00")])
def test_a_channel_with_a_typo_is_refused_with_the_nearest_name(slack: Shell, words: tuple[str, ...]) -> None:
    refused = slack.run(*words, "#salse")
    assert refused.code == 1
    assert "Did you mean #sales?" in " ".join(refused.err.split())


def test_a_channel_is_named_in_every_command_and_answer(slack: Shell) -> None:
    added = slack.run("subscribe", "lead.bounced", "#sales")
    assert (added.code, "#sales now gets bounces" in added.out, "<#" in added.out) == (0, True, False)
    assert "To remove: unsubscribe bounces #sales" in slack.run("subscriptions", "#sales").out
    assert "#sales now gets a digest" in slack.run("digest", "at", "09:00", "#sales").out
    removed = slack.run("unsubscribe", "lead.bounced", "#Sales")
    assert (removed.code, "#sales is unsubscribed from bounces" in removed.out) == (0, True)
    assert slack.run("digest", "off", "#sales").code == 0
    assert "Did you mean #sales?" in " ".join(slack.run("subscriptions", "#salse").err.split())


@pytest.mark.parametrize("words", [("subscribe", "lead.bounced"), ("digest", "at", "09:00")])
def test_without_a_bot_token_the_answer_says_that_slack_was_not_asked(
    shell: Shell, words: tuple[str, ...]
) -> None:
    answer = shell.run(*words, "#salse")
    assert answer.code == 0
    assert "Not checked with Slack" in " ".join(answer.out.split())
    assert "Set SLACK_BOT_TOKEN" in " ".join(answer.out.split())


def test_an_unreachable_slack_refuses_a_name_and_takes_an_id_unchecked(slack: Shell) -> None:
    slack.set("SLACK_API_URL", "http://127.0.0.1:9/api/")
    refused = slack.run("subscribe", "lead.bounced", "#sales")
    assert "Slack couldn't be asked about #sales" in " ".join(refused.err.split())
    assert "couldn't check this channel" in " ".join(
        slack.run("digest", "at", "09:00", "C0SALES002").out.split()
    )
