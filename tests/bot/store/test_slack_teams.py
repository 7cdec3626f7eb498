"""Installations in either engine: encrypted, one for each team, and gone with everything when they go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from itertools import count

import pytest
import sqlalchemy as sa
from pydantic import SecretStr
from slack_sdk.oauth.installation_store import Installation

from bot.slack import teams as slack_teams
from bot.slack.teams import Teams
from bot.store import Store, open_store
from bot.store.db.engine import Transaction
from bot.store.db.schema import posts
from bot.store.db.slack_schema import slack_bots, slack_installations, slack_oauth_states
from bot.store.queue.outbox import PlannedPost
from bot.store.slack_teams import SlackTeam, SlackTeams
from bot.store.webhooks import SecretCipher
from shared.records.records import Subscription

KEYS = (SecretStr("one-key-of-the-tests"),)
TOKEN = "xoxb-" + "1234567890-" * 12
APP = "111.222"


@pytest.fixture
async def store(url: sa.URL) -> AsyncIterator[Store]:
    async with open_store(url) as opened:
        yield opened


@pytest.fixture
def teams(store: Store) -> SlackTeams:
    return SlackTeams(store.database, SecretCipher(KEYS), client_id=APP)


def installation(team: str = "T1", *, token: str = TOKEN, name: str = "One") -> Installation:
    return Installation(
        app_id="A1",
        team_id=team,
        team_name=name,
        bot_token=token,
        bot_id="B1",
        bot_user_id="U0",
        user_id="U1",
    )


async def test_a_token_is_stored_encrypted_and_read_back(teams: SlackTeams, store: Store) -> None:
    kept = installation()
    await teams.save(kept)
    assert kept.bot_token == TOKEN
    (team,) = await teams.all()
    assert (team.id, team.name, team.token, team.bot_user_id) == ("T1", "One", TOKEN, "U0")
    assert TOKEN not in repr(team)

    def stored(tx: Transaction) -> str:
        return "".join(str(tx.execute(sa.select(table)).all()) for table in (slack_bots, slack_installations))

    text = await store.database.read(stored)
    assert "xoxb" not in text
    assert text.count("fernet:") == 2


async def test_another_key_reads_no_token_and_says_so(teams: SlackTeams, store: Store) -> None:
    await teams.save(installation())
    other = SlackTeams(store.database, SecretCipher((SecretStr("another-key"),)), client_id=APP)
    (team,) = await other.all()
    assert team.token == ""
    assert "another key" in team.problem
    both = SecretCipher((SecretStr("another-key"), *KEYS))
    (team,) = await SlackTeams(store.database, both, client_id=APP).all()
    assert team.token == TOKEN


async def test_a_second_installation_takes_the_place_of_the_first(teams: SlackTeams, store: Store) -> None:
    await teams.save(installation())
    await teams.save(installation(token="xoxb-new", name="Uno"))
    await teams.save(installation("T2", name="Due"))
    assert [(one.id, one.name) for one in await teams.all()] == [("T2", "Due"), ("T1", "Uno")]
    counted = sa.select(sa.func.count()).select_from(slack_bots)
    assert await store.database.read(lambda tx: tx.scalar(counted)) == 2


async def test_installations_of_another_app_are_not_seen(teams: SlackTeams, store: Store) -> None:
    await teams.save(installation())
    assert await SlackTeams(store.database, SecretCipher(KEYS), client_id="other").all() == []


async def test_access_survives_a_new_installation_but_not_a_removal(teams: SlackTeams) -> None:
    await teams.save(installation())
    await teams.allow("T1", "acme")
    await teams.allow("T1", "acme")
    await teams.save(installation())
    assert (await teams.all())[0].workspaces == {"acme"}
    assert await teams.remove("T1")
    assert not await teams.remove("T1")
    await teams.save(installation())
    assert (await teams.all())[0].workspaces == frozenset()


async def test_removal_takes_everything_that_waits_for_the_teams_channels_and_nothing_else(
    teams: SlackTeams, store: Store
) -> None:
    """T1 is a prefix of T10, and `_` is not a wildcard."""
    await teams.save(installation())
    for channel in ("T1/C1", "T10/C1", "C1"):
        one = Subscription(channel=channel, event="lead.bounced")
        await store.records.subscribe("acme", [one, replace(one, event="reply.ooo")])
        await store.records.set_digest("acme", channel, "09:00")
        await store.outbox.plan("acme", PlannedPost(dedupe=channel, channel=channel, kind="note", note="{}"))
    await teams.remove("T1")
    left = {one.channel for one in await store.records.subscriptions("acme", "")}
    assert left == {"T10/C1", "C1"}
    assert await store.records.digest_at("acme", "T1/C1") is None
    assert await store.records.digest_at("acme", "T10/C1") == "09:00"
    waiting = sa.select(posts.c.channel).order_by(posts.c.id)
    assert await store.database.read(lambda tx: list(tx.scalars(waiting))) == ["T10/C1", "C1"]


async def test_disallowing_one_workspace_leaves_the_others(teams: SlackTeams, store: Store) -> None:
    for workspace in ("acme", "globex"):
        await teams.allow("T1", workspace)
        await store.records.subscribe(workspace, [Subscription(channel="T1/C1", event="lead.bounced")])
    assert await teams.disallow("T1", "acme")
    assert not await teams.disallow("T1", "acme")
    assert not await store.records.subscriptions("acme", "")
    assert await store.records.subscriptions("globex", "")


async def test_an_uninstall_from_before_the_installation_is_ignored(teams: SlackTeams) -> None:
    await teams.save(installation())
    (team,) = await teams.all()
    assert not await teams.remove("T1", installed_before=team.installed_at - 1)
    assert await teams.remove("T1", installed_before=team.installed_at + 1)


async def test_a_state_counts_once_also_where_many_ask_at_once(teams: SlackTeams, store: Store) -> None:
    answers = await asyncio.gather(*(teams.use_state("a state", seconds=600) for _ in range(8)))
    assert sorted(answers) == [False] * 7 + [True]
    assert await teams.state_is_used("a state")
    assert not await teams.state_is_used("another")
    kept = await store.database.read(lambda tx: tx.scalars(sa.select(slack_oauth_states.c.state)).all())
    assert b"a state" not in kept


async def test_used_states_are_kept_as_long_as_they_would_be_valid(teams: SlackTeams) -> None:
    assert await teams.use_state("ended", seconds=0.0)
    assert await teams.use_state("new", seconds=600)
    assert not await teams.state_is_used("ended")
    assert await teams.state_is_used("new")


async def test_a_database_that_hangs_holds_up_no_request_of_a_team_that_is_known(
    teams: SlackTeams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slack_teams, "READ_WITHIN", 0.05)
    await teams.save(installation("T1"))
    moments = count(step=100.0)
    known = Teams(teams, clock=lambda: next(moments))
    assert await known.find("T1")

    async def hang() -> Sequence[SlackTeam]:
        await asyncio.Event().wait()
        return ()

    monkeypatch.setattr(teams, "all", hang)
    async with asyncio.timeout(5):
        assert await known.find("T1")
