"""`outreach slack-workspaces`: the Slack workspaces that installed the bot, and their access.

A workspace that has just installed the bot has no access until it is allowed here. A running bot applies changes
within seconds.
"""

from __future__ import annotations

import asyncio
import re
from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime

from bot.store import Store
from bot.store.slack_teams import SlackTeam, SlackTeams
from bot.store.webhooks import SecretCipher
from cli.console import card_output, exit_codes
from cli.console.resources import audit_entry, open_bot_store
from shared.commands.result import Result
from shared.domain.card import Card, Row, Table, Tone, columns
from shared.domain.wall_clock import moment
from shared.settings import Settings, load
from shared.text.formats import show_number
from shared.text.slack_ids import TEAM


def run(options: Namespace) -> int:
    """`list`, `grant`, `revoke` or `delete`; `allow` and `remove` are their old names."""
    settings = load(config=options.config)
    if not settings.slack.client_id:
        raise exit_codes.WrongUsage("Slack workspaces install the bot by OAuth: set SLACK_CLIENT_ID first")
    action = _OLD.get((options.action, bool(options.workspace)), options.action)
    act = {"list": _list, "grant": _grant, "revoke": _revoke, "delete": _delete}[action]
    return asyncio.run(act(settings, settings.slack.client_id, options))


@asynccontextmanager
async def _open(settings: Settings, client_id: str) -> AsyncIterator[tuple[Store, SlackTeams]]:
    async with open_bot_store(settings) as store:
        yield store, SlackTeams(store.database, SecretCipher(settings.secret_keys), client_id=client_id)


async def _list(settings: Settings, client_id: str, options: Namespace) -> int:
    async with _open(settings, client_id) as (_, teams):
        known = await teams.all()
    rows = tuple(
        Row(cells=(team.id, team.name, _shown(team), team.problem or f"{_when(team):%-d %b %Y}"))
        for team in known
    )
    card = Result(
        card=Card(
            title=show_number(len(known), "Slack workspace"),
            table=Table(columns=columns("Id", "Name", "Can view", "Installed"), rows=rows) if rows else None,
            footer="A workspace installs the bot at its /slack/install page.",
        ),
        rows=tuple(_data(team) for team in known),
    )
    return card_output.answer(card, as_json=options.json)


_OLD = {
    ("allow", True): "grant",
    ("allow", False): "grant",
    ("remove", True): "revoke",
    ("remove", False): "delete",
}
"""What the old names mean, with an outreach workspace and without."""


async def _grant(settings: Settings, client_id: str, options: Namespace) -> int:
    team = _named_team(options)
    if not options.workspace:
        raise exit_codes.WrongUsage("name the outreach workspace: slack-workspaces grant TEAM @workspace")
    workspace = settings.workspace(options.workspace).name
    async with _open(settings, client_id) as (store, teams):
        found = await _installed(teams, team)
        await teams.allow(team, workspace)
        await store.records.record(audit_entry(workspace, f"slack-workspaces grant {team}", "allowed"))
    text = "People there can view it, and full members can change it. `[roles]` sets permissions."
    return card_output.answer(
        Result(card=Card(title=f"{found.name} can now view @{workspace}", tone=Tone.GOOD, text=(text,)))
    )


async def _revoke(settings: Settings, client_id: str, options: Namespace) -> int:
    team, workspace = _named_team(options), options.workspace
    if not workspace:
        raise exit_codes.WrongUsage("name the outreach workspace: slack-workspaces revoke TEAM @workspace")
    async with _open(settings, client_id) as (store, teams):
        if not await teams.disallow(team, workspace):
            raise exit_codes.Failed(f"{team} had no access to @{workspace}")
        await store.records.record(audit_entry(workspace, f"slack-workspaces revoke {team}", "disallowed"))
    title = f"{team} no longer has access to @{workspace}"
    text = "Its subscriptions, digests and unsent alerts for that workspace were removed."
    return card_output.answer(Result(card=Card(title=title, tone=Tone.GOOD, text=(text,))))


async def _delete(settings: Settings, client_id: str, options: Namespace) -> int:
    team = _named_team(options)
    if options.workspace:
        raise exit_codes.WrongUsage(
            f"delete ends all access of {team}. To end the access to @{options.workspace} alone: "
            f"slack-workspaces revoke {team} @{options.workspace}"
        )
    async with _open(settings, client_id) as (store, teams):
        found = await _installed(teams, team)
        await teams.remove(team)
        for workspace in found.workspaces:
            await store.records.record(audit_entry(workspace, f"slack-workspaces delete {team}", "removed"))
    title = f"{found.name} was removed"
    text = "Its token, subscriptions, digests and unsent alerts were removed. Remove the app in Slack, too."
    return card_output.answer(Result(card=Card(title=title, tone=Tone.GOOD, text=(text,))))


def _named_team(options: Namespace) -> str:
    if not options.team or not re.fullmatch(TEAM, options.team):
        raise exit_codes.WrongUsage("name the Slack workspace by its id, like T0123456789")
    return str(options.team)


async def _installed(teams: SlackTeams, team: str) -> SlackTeam:
    known = {one.id: one for one in await teams.all()}
    if team not in known:
        raise exit_codes.Failed(
            f"{team} hasn't installed the bot. Install it at the bot's /slack/install page."
        )
    return known[team]


def _when(team: SlackTeam) -> datetime:
    return moment(team.installed_at)


def _shown(team: SlackTeam) -> str:
    return ", ".join(f"@{name}" for name in sorted(team.workspaces)) or "nothing yet"


def _data(team: SlackTeam) -> dict[str, object]:
    return {
        "id": team.id,
        "name": team.name,
        "workspaces": sorted(team.workspaces),
        "installed_at": _when(team).isoformat(),
        "problem": team.problem or None,
    }
