"""`/mcp` of a running bot, with the official SDK's client: who gets in, and what they see."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from mcp_types.version import LATEST_MODERN_VERSION

from bot.slack import teams as slack_teams
from sandbox.slack.state import seed
from shared.records.audit import AuditEntry
from tests.bot.assistants.clients import Assistants, Bearer, Signing, call, open_assistants, signed, slack
from tests.bot.fake_service import Remote, open_remote
from tests.bot.harness import BotHarness
from tests.bot.slack.oauth import FIRST, SECOND, oauth_bot, oauth_harness

MODES = ("legacy", LATEST_MODERN_VERSION)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a shell changes is seen with the next request."""
    monkeypatch.setattr(slack_teams, "FRESH_SECONDS", 0.0)


@pytest.fixture
async def assistants(tmp_path: Path, remote: Remote) -> AsyncIterator[Assistants]:
    async with open_assistants(tmp_path, OUTREACH_BASE_URL=remote.url) as opened:
        yield opened


async def test_mcp_is_off_by_default(bot: BotHarness) -> None:
    async with bot.http.post(f"{bot.url}/mcp", json=call()) as answer:
        assert answer.status == 404


@pytest.mark.parametrize("mode", MODES)
async def test_a_person_of_slack_reads(assistants: Assistants, mode: str) -> None:
    async with assistants.connected(Signing(assistants.secret), mode=mode) as client:
        listed = await client.list_tools(meta=slack(seed.BEN.id))  # type: ignore[arg-type]
        found = await client.call_tool("sequences", {}, meta=slack(seed.BEN.id))  # type: ignore[arg-type]
    names = {tool.name for tool in listed.tools}
    assert "sequences" in names
    assert "pause" not in names
    assert not found.is_error
    assert found.structured_content["rows"]


async def test_each_call_is_in_the_audit_with_the_person_and_via_assistant(assistants: Assistants) -> None:
    await assistants.ask(seed.BEN.id, "sequences", {"status": "active"})
    await assistants.ask(seed.BEN.id, "no-such-tool")
    await assistants.ask(seed.BEN.id, "pause", {"target": ["all"]})
    entries = await assistants.audit()
    assert [(one.command, one.effect) for one in entries] == [
        ("pause all", "refused"),
        ("no-such-tool", "refused"),
        ("sequences active", "read"),
    ]
    assert {(one.actor.name, one.actor.id, one.actor.via) for one in entries} == {
        ("ben", seed.BEN.id, "assistant")
    }


async def test_the_audit_command_shows_what_assistants_read_apart(assistants: Assistants) -> None:
    await assistants.ask(seed.BEN.id, "sequences")
    (shown,) = await assistants.bot.say("audit", user=seed.ANN.id)
    text = json.dumps(shown, ensure_ascii=False)
    assert "Assistant" in text
    assert "for @ben: sequences" in text


@pytest.mark.parametrize(
    ("user", "team"),
    [
        (seed.GUS.id, seed.TEAM.id),  # a guest
        (seed.EVA.id, seed.TEAM.id),  # of another organization, whatever the team says
        (seed.BEN.id, seed.NORTHWIND.id),  # of another team
        ("U0NOBODY99", seed.TEAM.id),
    ],
)
async def test_only_full_members_of_the_own_team_get_in(assistants: Assistants, user: str, team: str) -> None:
    body = json.dumps(call(user, team=team)).encode()
    assert await assistants.post(body, signed(body, secret=assistants.secret)) == 403
    assert await assistants.audit() == []


async def test_forged_late_repeated_and_odd_requests_are_refused(assistants: Assistants) -> None:
    body = json.dumps(call()).encode()
    good = signed(body, secret=assistants.secret)
    assert await assistants.post(body, {}) == 401
    assert await assistants.post(body, signed(body, secret="another")) == 401
    assert await assistants.post(body + b" ", good) == 401
    late = int(good["X-Slack-Request-Timestamp"]) - 301
    assert await assistants.post(body, signed(body, secret=assistants.secret, at=late)) == 401
    assert await assistants.post(body, good) == 200
    assert await assistants.post(body, good) == 401
    for odd in (b"{", b"[]", b"[" * 5_000, json.dumps(call(team=None)).encode()):
        assert await assistants.post(odd, signed(odd, secret=assistants.secret)) == 400
    assert await assistants.post(b"\xff", {**good}) == 401
    assert await assistants.post(b"x" * 70_000, {}) == 413
    assert len(await assistants.audit()) == 1


async def test_a_signed_request_that_names_nobody_lists_tools_and_calls_none(assistants: Assistants) -> None:
    async with assistants.connected(Signing(assistants.secret)) as client:
        assert (await client.list_tools()).tools
        found = await client.call_tool("sequences", {})
    assert found.is_error
    assert "who asks" in json.dumps(found.structured_content)


@pytest.mark.parametrize("mode", MODES)
async def test_a_token_reads_with_its_role_in_its_workspaces(assistants: Assistants, mode: str) -> None:
    secret = await assistants.token()
    async with assistants.connected(Bearer(secret), mode=mode) as client:
        found = await client.call_tool("sequences", {})
        elsewhere = await client.call_tool("sequences", {"workspace": "globex"})
    assert found.structured_content["rows"]
    assert elsewhere.is_error
    newest = (await assistants.audit())[-1]
    assert (newest.actor.name, newest.actor.face, newest.actor.via) == ("reports", "token", "assistant")


async def test_wrong_expired_and_revoked_tokens_are_refused(assistants: Assistants) -> None:
    assert assistants.bot.running is not None
    tokens = assistants.bot.running.store.assistant_tokens
    good = await assistants.token()
    expired = await assistants.token(seconds=0.0)
    elsewhere = await assistants.token(workspaces=["globex"])
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}

    async def status(secret: str) -> int:
        return await assistants.post(listing, {"Authorization": f"Bearer {secret}"})

    assert await status(good) == 200
    for wrong in (good[:-1], good + "x", expired, elsewhere, "", "outreach_mcp_", "xoxb-1"):
        assert await status(wrong) == 401
    assert await assistants.post(listing, {"Authorization": f"Basic {good}"}) == 401
    (newest, *_) = [one for one in await tokens.all() if one.used_at]
    assert await tokens.revoke(newest.id)
    assert await status(good) == 401
    assert good not in repr(await tokens.all())


async def test_limits_of_a_person_hold_for_all_their_assistants(tmp_path: Path, remote: Remote) -> None:
    limits = "[mcp]\ncalls_an_hour = 2\n"
    async with open_assistants(tmp_path, settings=limits, OUTREACH_BASE_URL=remote.url) as assistants:
        for tool in ("whoami", "status"):
            assert not (await assistants.ask(seed.BEN.id, tool)).is_error
        third = await assistants.ask(seed.BEN.id, "sequences")
        assert "limit of 2 calls an hour" in json.dumps(third.structured_content)
        assert not (await assistants.ask(seed.ANN.id, "whoami")).is_error


async def test_without_the_package_the_bot_runs_and_mcp_is_off(
    tmp_path: Path, remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.app.find_spec", lambda _name: None)
    async with open_assistants(tmp_path, OUTREACH_BASE_URL=remote.url) as assistants:
        assert await assistants.post(call(), {}) == 404
        assert (await assistants.bot.get("/healthz"))[0] == 200


async def test_each_slack_workspace_sees_its_own_outreach_workspaces_alone(tmp_path: Path) -> None:
    async with (
        open_remote("Q3 founders") as acme,
        open_remote("EMEA agencies") as globex,
        oauth_harness(tmp_path, OUTREACH_MCP_ENABLED="true") as bot,
    ):
        bot.config_workspaces({"acme": acme.place(""), "globex": globex.place("")})
        async with oauth_bot(bot) as running:
            for team in (FIRST, SECOND):
                await running.browser.install(team)
            await running.teams.allow(FIRST, "acme")
            assistants = Assistants(bot=bot)

            async def names(team: str, **arguments: str) -> tuple[str, bool]:
                found = await assistants.ask(seed.BEN.id, "sequences", arguments, team=team)
                return json.dumps(found.structured_content), found.is_error

            shown, _ = await names(FIRST)
            assert "Q3 founders" in shown
            assert "EMEA" not in shown
            elsewhere, refused = await names(FIRST, workspace="globex")
            assert refused
            assert "EMEA" not in elsewhere
            body = json.dumps(call(team=SECOND)).encode()
            assert await assistants.post(body, signed(body, secret=assistants.secret)) == 403
            await running.teams.allow(SECOND, "globex")
            shown, _ = await names(SECOND)
            assert "EMEA agencies" in shown
            assert "Q3" not in shown
            newest = (await running_audit(assistants, "globex"))[0]
            assert newest.actor.id == f"{SECOND}/{seed.BEN.id}"


async def running_audit(assistants: Assistants, workspace: str) -> list[AuditEntry]:
    assert assistants.bot.running is not None
    return list(await assistants.bot.running.store.records.audit(workspace))
