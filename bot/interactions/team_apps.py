"""Routes requests of several Slack workspaces to one app each, which has access only to what its team can see.

From here on, ids have their team in front (`shared.text.slack_ids`). Requests of a team that isn't installed, or has no
access yet, reach no listener.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import structlog
from slack_bolt.async_app import AsyncApp, AsyncBoltRequest, AsyncRespond
from slack_bolt.response import BoltResponse

from bot.interactions.lifecycle import revokes_bot
from bot.interactions.listeners import Listeners
from bot.slack.teams import Teams
from bot.slack.web_api import respond_to
from bot.store.slack_teams import SlackTeam
from shared.records.records import RecordsUnavailable
from shared.text.slack_ids import TEAM, in_team

NOT_INSTALLED = (
    "Outreach isn't installed in this Slack workspace. Open the bot's /slack/install page to install it."
)
NOT_ALLOWED = (
    "This Slack workspace ({team}) doesn't have access to an outreach workspace yet. The person who runs the bot can allow one: "
    "`outreach slack-workspaces grant {team} @workspace`"
)
_CHANNEL_FIELDS = ("channel", "channel_id", "old_channel_id", "new_channel_id")
_USER_FIELDS = ("user", "user_id", "inviter", "item_user")

log = structlog.get_logger("teams")


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamApp:
    """What answers one team, as long as the team stays as it is."""

    team: SlackTeam
    app: AsyncApp
    listeners: Listeners


class TeamApps:
    """Takes requests in the place of one `AsyncApp`; `build` makes the app of a team."""

    oauth_flow = None
    """Bolt's handlers ask for it; the pages of the installation are our own."""

    def __init__(
        self, teams: Teams, *, workspaces: Collection[str], build: Callable[[SlackTeam], TeamApp]
    ) -> None:
        self._teams, self._workspaces, self._build = teams, frozenset(workspaces), build
        self._apps: dict[str, TeamApp] = {}
        self._telling: set[asyncio.Task[bool]] = set()

    async def async_dispatch(self, request: AsyncBoltRequest) -> BoltResponse:
        """Answer one request, whose signature has been checked."""
        named, body = request.context.team_id, request.body
        team_id = named if isinstance(named, str) and re.fullmatch(TEAM, named) else ""
        if body.get("type") == "url_verification":  # once, when the address is entered at Slack
            return BoltResponse(status=200, body={"challenge": body.get("challenge")})
        event = body["event"] if isinstance(body.get("event"), dict) else {}
        if event.get("type") in {"app_uninstalled", "tokens_revoked"}:
            return await self._removed(team_id, event, body)
        try:
            team = await self._teams.find(team_id)
        except RecordsUnavailable as error:
            log.warning("database unavailable", error=str(error))
            return BoltResponse(status=503)
        app = self._app(team) if team and team.token else None
        if app is None:
            return self._refuse(team_id, team, body)
        scope_ids(body, team_id)
        return await app.app.async_dispatch(request)

    def _app(self, team: SlackTeam) -> TeamApp | None:
        """The team's app, rebuilt when the team has changed; None if it has no access."""
        if team.workspaces.isdisjoint(self._workspaces):
            return None
        known = self._apps.get(team.id)
        if known is None or known.team != team:
            self._apps[team.id] = known = self._build(team)
        return known

    async def _removed(self, team: str, event: Mapping[str, Any], body: Mapping[str, Any]) -> BoltResponse:
        """The app was uninstalled, or its bot token taken back; the two events come in any order, and may be late.

        https://docs.slack.dev/reference/events/app_uninstalled, https://docs.slack.dev/reference/events/tokens_revoked
        """
        if event["type"] == "tokens_revoked" and not revokes_bot(event):
            return BoltResponse(status=200)
        try:
            time = body.get("event_time")
            at = float(time) if isinstance(time, int | float) else 0.0
            if await self._teams.store.remove(team, installed_before=at + 1):
                log.info("uninstalled", team=team)
        except RecordsUnavailable as error:
            log.warning("not removed", team=team, error=str(error))
            return BoltResponse(status=503)  # Slack sends it again
        self._teams.forget()
        self._apps.pop(team, None)
        return BoltResponse(status=200)

    def _refuse(self, team_id: str, team: SlackTeam | None, body: Mapping[str, Any]) -> BoltResponse:
        """Explain to the person why there is no answer; events are acknowledged silently."""
        text = NOT_ALLOWED.format(team=team_id) if team else NOT_INSTALLED
        if "command" in body:
            answer = json.dumps({"response_type": "ephemeral", "text": text})
            return BoltResponse(status=200, body=answer, headers={"content-type": ["application/json"]})
        if url := body.get("response_url"):
            respond = AsyncRespond(response_url=str(url))
            found = {"text": text, "response_type": "ephemeral", "replace_original": False}
            task = asyncio.create_task(respond_to(respond, found))
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)
        if body.get("type") == "view_submission":
            return BoltResponse(status=200, body='{"response_action": "clear"}')
        return BoltResponse(status=200)

    async def drain(self, seconds: float) -> None:
        await asyncio.gather(*(one.listeners.drain(seconds) for one in self._apps.values()))


def scope_ids(body: dict[str, Any], team: str) -> None:
    """Put the team before every id of a user or a channel in what Slack sent, whatever team such an id names itself."""
    for part in (body, body.get("event"), body.get("container"), (body.get("event") or {}).get("item")):
        if isinstance(part, dict):
            _scope_fields(part, team)


def _scope_fields(part: dict[str, Any], team: str) -> None:
    for name in (*_CHANNEL_FIELDS, *_USER_FIELDS):
        value = part.get(name)
        if isinstance(value, str):
            part[name] = in_team(team, value.rpartition("/")[2])
        elif isinstance(value, dict) and isinstance(value.get("id"), str):
            value["id"] = in_team(team, value["id"].rpartition("/")[2])
