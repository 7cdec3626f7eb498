"""What a shell shows and changes of the Slack workspaces that installed the bot."""

from __future__ import annotations

import asyncio

import pytest
from slack_sdk.oauth.installation_store import Installation

from bot.store import open_store
from bot.store.slack_teams import SlackTeams
from bot.store.webhooks import SecretCipher
from shared.settings import load
from tests.cli.conftest import Shell

TEAM = "T0NORTHWND"


@pytest.fixture
def installed(offline: Shell) -> Shell:
    """Northwind has installed the bot."""
    offline.set("SLACK_CLIENT_ID", "111.222")
    offline.set("SLACK_CLIENT_SECRET", "secret-of-the-tests")
    offline.set("OUTREACH_SECRET_KEY", "key-of-the-tests")

    async def install() -> None:
        settings = load()
        async with open_store(settings.database) as store:
            teams = SlackTeams(store.database, SecretCipher(settings.secret_keys), client_id="111.222")
            await teams.save(
                Installation(
                    app_id="A1", team_id=TEAM, team_name="Northwind", bot_token="xoxb-secret", user_id="U1"
                )
            )

    asyncio.run(install())
    return offline


def test_a_team_is_listed_allowed_and_removed(installed: Shell) -> None:
    (before,) = installed.run("slack-teams", "list", "--json").data
    assert (before["id"], before["name"], before["workspaces"]) == (TEAM, "Northwind", [])
    assert "nothing yet" in installed.run("slack-teams", "list").out
    allowed = installed.run("slack-teams", "allow", TEAM, "@default")
    assert allowed.code == 0
    assert "Northwind can now view @default" in allowed.out
    listed = installed.run("slack-teams", "list")
    assert "@default" in listed.out
    assert "xoxb" not in listed.out
    assert "no longer has access to @default" in installed.run("slack-teams", "remove", TEAM, "@default").out
    assert installed.run("slack-teams", "remove", TEAM).code == 0
    assert installed.run("slack-teams", "list", "--json").data == []


def test_the_plain_names_do_the_same(installed: Shell) -> None:
    granted = installed.run("slack-workspaces", "grant", TEAM, "@default")
    assert granted.out == installed.run("slack-teams", "allow", TEAM, "@default").out
    assert "no longer has access" in installed.run("slack-workspaces", "revoke", TEAM, "@default").out
    refused = installed.run("slack-workspaces", "revoke", TEAM)
    assert (refused.code, "name the outreach workspace" in refused.err) == (2, True)
    refused = installed.run("slack-workspaces", "delete", TEAM, "@default")
    assert (refused.code, f"slack-workspaces revoke {TEAM} @default" in refused.err) == (2, True)
    assert installed.run("slack-workspaces", "delete", TEAM).code == 0
    assert installed.run("slack-workspaces", "list", "--json").data == []


def test_who_may_see_what_is_in_the_audit(installed: Shell) -> None:
    installed.run("slack-teams", "allow", TEAM, "@default")
    installed.run("slack-teams", "remove", TEAM)
    entries = installed.run("audit", "--json").data
    commands = [one["command"] for one in entries]
    assert f"slack-workspaces grant {TEAM}" in commands
    assert f"slack-workspaces delete {TEAM}" in commands


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (("allow", TEAM), 2, "name the outreach workspace"),
        (("allow", TEAM, "@unknown"), 2, "unknown"),
        (("allow", "T0STRANGER", "@default"), 1, "hasn't installed the bot"),
        (("allow", "northwind", "@default"), 2, "by its id"),
        (("remove", TEAM, "@default"), 1, "had no access to @default"),
        (("remove",), 2, "by its id"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_reason(
    installed: Shell, words: tuple[str, ...], code: int, why: str
) -> None:
    result = installed.run("slack-teams", *words)
    assert result.code == code
    assert why in result.err
    assert installed.run("slack-teams", "list", "--json").data[0]["workspaces"] == []


def test_without_a_client_id_there_are_no_teams(offline: Shell) -> None:
    result = offline.run("slack-teams", "list")
    assert result.code == 2
    assert "SLACK_CLIENT_ID" in result.err


def test_the_doctor_says_which_team_cannot_be_reached_or_read(installed: Shell) -> None:
    installed.set("SLACK_API_URL", "http://127.0.0.1:9/api/")
    found = {one["check"]: one for one in installed.run("doctor", "--json").data}
    assert "can't be reached" in found["Slack workspace Northwind"]["found"]
    installed.set("OUTREACH_SECRET_KEY", "another-key")
    found = {one["check"]: one for one in installed.run("doctor", "--json").data}
    assert "another key" in found["Slack workspace Northwind"]["found"]
