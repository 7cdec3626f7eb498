"""The control API: does what people and Slack itself do, for tests and for the page.

POST /control/{act} with a JSON object, GET /control/{query} with a query string. The answer has ok: true, or status 400
and an error that says what is valid. `user` is an id or a name (ann), `channel` an id, a name or dm (#outreach-alerts).
With `wait` an act waits so many seconds until the bot has posted or changed a message that the user sees, or opened a
view. With `team` the request says that it is from another Slack team. GET /control is this text, with all acts.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import asdict, fields
from functools import partial
from typing import Any

import aiohttp
from pydantic import TypeAdapter, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sandbox.asgi_server import json_of
from sandbox.slack import seed
from sandbox.slack.acts import ACTS, Act, Body, PersonAct
from sandbox.slack.delivery import Delivery
from sandbox.slack.errors import InvalidActionError, SlackError
from sandbox.slack.faults import RESPONSE_URL, SlackFault
from sandbox.slack.model import Json, User
from sandbox.slack.settings import Manifest, Settings
from sandbox.slack.sockets import NoConnectionError
from sandbox.slack.views import home_view
from sandbox.slack.web_api.methods import METHODS
from sandbox.slack.workspace import Workspace

Handler = Callable[[Any], Awaitable[Json]]
_USER, _MANIFEST = TypeAdapter(User), TypeAdapter(Manifest)
_USER_FIELDS = {one.name for one in fields(User)} - {"id"}


class Control:
    """The acts and queries, by their names."""

    def __init__(self, workspace: Workspace, delivery: Delivery) -> None:
        self._workspace = workspace
        self._delivery = delivery
        self.acts: dict[str, Handler] = {
            "reset": self._reset,
            "request_url": self._set_request_url,
            "manifest": self._apply_manifest,
            "settings": self._change_settings,
            "faults": self._set_fault,
            "clock": self._advance_clock,
            "sockets": self._change_sockets,
            "token": self._change_token,
            "scopes": self._change_scopes,
            "channel": self._change_channel,
            "members": self._change_members,
            "user": self._change_user,
            "event": self._send_event,
            "request": self._send_request,
            **{name: partial(self._by_person, act) for name, act in ACTS.items()},
        }
        self.queries: dict[str, Handler] = {
            "state": self._state,
            "messages": self._messages,
            "traffic": self._traffic,
            "summary": self._summary,
        }
        # These read a JSON object of their own, everything else reads a `Body`.
        self._raw = ("manifest", "settings", "faults", "user")

    async def document(self, _request: Request) -> Response:
        """Return what each act and query does, and the types of their fields."""
        document = {
            "about": __doc__,
            "acts": {name: inspect.getdoc(act) for name, act in {**self.acts, **ACTS}.items()},
            "queries": {name: inspect.getdoc(query) for name, query in self.queries.items()},
            "methods": sorted(METHODS),
            "fields": Body.model_json_schema(),
            "fault": SlackFault.model_json_schema(),
            "settings": Settings.model_json_schema(),
        }
        return JSONResponse(document)

    async def read(self, request: Request) -> Response:
        return await self._answer(request, self.queries, dict(request.query_params))

    async def act(self, request: Request) -> Response:
        try:
            given = await json_of(request)
        except ValueError:
            return _error("body: not JSON")
        if not isinstance(given, dict):
            return _error("body: not an object")
        return await self._answer(request, self.acts, given)

    async def _by_person(self, act: PersonAct, body: Body) -> Json:
        or_bot = act is ACTS["message"]
        return await act(Act(self._workspace, self._delivery, body, or_bot=or_bot))

    async def _answer(self, request: Request, known: dict[str, Handler], given: Json) -> Response:
        name = request.path_params["name"]
        handler = known.get(name)
        if handler is None:
            is_other = name in self.acts or name in self.queries
            raise HTTPException(405 if is_other else 404)
        try:
            # Their fields are those of another model, which says itself what is wrong.
            body = given if name in self._raw else Body.model_validate(given)
            return JSONResponse({"ok": True, **await handler(body)})
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            return _error(f"{place}: {first['msg']}")
        except (SlackError, InvalidActionError, ValueError) as error:
            return _error(str(error))

    # Acts of Slack

    async def _reset(self, body: Body) -> Json:
        """Forget messages, changed people and channels, views, faults, counts and deliveries.

        With everything, also settings, token and time are as at the start. Connections stay.
        """
        # Events that are still to come would be posted into the workspace that begins again.
        self._delivery.forget()
        if body.everything:
            self._workspace.sockets.silence(silent=False)
            self._workspace.sockets.disabled = False
        self._workspace.reset(everything=body.everything)
        return {}

    async def _set_request_url(self, body: Body) -> Json:
        """Set url, where the bot is; null: only Socket Mode."""
        self._workspace.settings.request_url = body.url
        return {"request_url": body.url}

    async def _apply_manifest(self, given: Json) -> Json:
        """Take an app manifest: its commands, shortcuts, events and scopes take effect."""
        self._workspace.settings.apply(_MANIFEST.validate_python(given))
        return self._settings_changed()

    async def _change_settings(self, given: Json) -> Json:
        """Change any of `settings` below. Answers all of them."""
        settings = self._workspace.settings
        checked = Settings.model_validate({**settings.model_dump(), **given})
        for name in given:
            setattr(settings, name, getattr(checked, name))
        return self._settings_changed()

    def _settings_changed(self) -> Json:
        self._workspace.feed.publish("settings", {})
        return {"settings": self._workspace.settings.to_json()}

    async def _set_fault(self, given: Json) -> Json:
        """Add a `fault`, with the fields below; clear: true takes all away. Answers pending."""
        faults = self._workspace.faults
        if given.get("clear"):
            faults.clear()
        else:
            fault = SlackFault.model_validate(given)
            if fault.method not in {*METHODS, "*", RESPONSE_URL}:
                raise InvalidActionError(f"method: there is no {fault.method}")
            faults.add(fault)
        return {"pending": faults.listed()}

    async def _advance_clock(self, body: Body) -> Json:
        """Let advance seconds pass. Requests to the bot stay signed with the real time."""
        self._workspace.clock.advance(body.need("advance"))
        return {"now": self._workspace.clock.now()}

    async def _change_sockets(self, body: Body) -> Json:
        """Change connections: act is cut (without notice), refresh, silence, speak, ….

        Silent is a Slack that sends nothing, hears nothing and answers no ping. disable and enable
        turn Socket Mode off and on. Answers connections.
        """
        sockets = self._workspace.sockets
        match body.act:
            case "cut":
                return {"connections": sockets.cut()}
            case "refresh":
                return {"connections": await sockets.disconnect("refresh_requested")}
            case "silence" | "speak":
                sockets.silence(silent=body.act == "silence")
            case "disable":
                sockets.disabled = True
                await sockets.disconnect("link_disabled")
            case "enable":
                sockets.disabled = False
            case _:
                known = "cut, refresh, silence, speak, disable, enable"
                raise InvalidActionError(f"act is one of {known}")
        return {"connections": len(sockets.ready)}

    async def _change_token(self, body: Body) -> Json:
        """Take the token back, with uninstalled the whole app; revoked: false gives it again.

        https://docs.slack.dev/reference/events/app_uninstalled,
        https://docs.slack.dev/reference/events/tokens_revoked
        """
        if body.revoked and not self._workspace.revoked:
            if body.uninstalled:
                self._delivery.fire("app_uninstalled")
            # Sent before the token is gone: afterwards Slack has nobody to send it to.
            self._delivery.fire("tokens_revoked", tokens={"oauth": [], "bot": [seed.BOT.id]})
        self._workspace.revoked = body.revoked
        return {"revoked": body.revoked}

    async def _change_scopes(self, body: Body) -> Json:
        """Change what the app may do: set, add, remove. Answers scopes."""
        settings = self._workspace.settings
        granted = settings.scopes if body.set is None else body.set
        removed = body.remove if isinstance(body.remove, frozenset) else {body.remove}
        settings.scopes = (granted | body.add) - removed
        return {"scopes": self._settings_changed()["settings"]["scopes"]}

    async def _change_channel(self, body: Body) -> Json:
        """Archive, unarchive or rename channel, or change its id: archived, name or id."""
        workspace, fire = self._workspace, self._delivery.fire
        channel = workspace.channel(body.need("channel"))
        family = "group" if channel.is_private else "channel"
        if body.name is not None:
            channel.name = body.name
            renamed = {"id": channel.id, "name": channel.name, "created": 1_735_689_600}
            fire(f"{family}_rename", channel=renamed)
        elif body.id is not None:
            old = workspace.change_id(channel, body.id)
            fire("channel_id_changed", old_channel_id=old, new_channel_id=channel.id)
        elif channel.is_archived != body.archived:
            channel.is_archived = body.archived
            verb = "archive" if body.archived else "unarchive"
            fire(f"{family}_{verb}", channel=channel.id, user=seed.ANN.id)
        workspace.feed.publish("channels", {})
        return {"channel": channel.to_slack(viewer=seed.BOT.id)}

    async def _change_members(self, body: Body) -> Json:
        """Let a person, or the bot, come or go: channel, invite or remove. Answers members."""
        workspace = self._workspace
        channel = workspace.channel(body.need("channel"))
        if body.invite is not None:
            user = workspace.user(body.invite).id
            if user not in channel.members:
                channel.members.append(user)
                self._delivery.member_joined(user, channel, inviter=seed.ANN.id)
        else:
            user = workspace.user(str(body.remove)).id
            if user in channel.members:
                channel.members.remove(user)
                if user == seed.BOT.id:
                    kind = "group_left" if channel.is_private else "channel_left"
                    self._delivery.fire(kind, channel=channel.id)
        workspace.feed.publish("channels", {})
        return {"members": list(channel.members)}

    async def _change_user(self, given: Json) -> Json:
        """Change user, an id or the name of someone there is, or add them.

        With name, real_name, title, team_id, enterprise_id, is_admin, is_bot, is_restricted,
        is_stranger, deleted (deactivated) and tz.
        """
        name = str(given.pop("user", ""))
        if unknown := set(given) - _USER_FIELDS:
            raise InvalidActionError(f"unknown: {', '.join(sorted(unknown))}")
        try:
            found = self._workspace.user(name)
        except SlackError:
            found = User(id=name, name=name.lower(), real_name=name)
        changed = _USER.validate_python({**asdict(found), **given})
        self._workspace.users[found.id] = changed
        self._workspace.feed.publish("settings", {})
        return {"user": changed.to_slack()}

    async def _send_event(self, body: Body) -> Json:
        """Send any event {type, …}, subscribed to or not.

        With the event_id of an earlier one it is that one again.
        """
        event = dict(body.need("event"))
        kind = str(event.pop("type", ""))
        self._delivery.send_event(kind, event, event_id=body.event_id, from_team=body.team)
        return {}

    async def _send_request(self, body: Body) -> Json:
        """Send any body to the bot with Slack's signature: body, content_type. Answers ack."""
        try:
            ack = await self._delivery.post(body.need("body").encode(), body.content_type)
        except (NoConnectionError, aiohttp.ClientError, OSError, TimeoutError) as error:
            raise InvalidActionError(f"the bot can't be reached: {error}") from error
        return {"ack": ack.to_json()}

    # Queries

    async def _state(self, _body: Body) -> Json:
        """Return everything but the messages."""
        workspace, bot = self._workspace, seed.BOT.id
        channels = workspace.channels.values()
        return {
            "team": asdict(seed.TEAM),
            "settings": workspace.settings.to_json(),
            "users": [user.to_slack() for user in workspace.users.values()],
            "channels": [one.to_slack(viewer=bot) | {"members": one.members} for one in channels],
            "views": {user: workspace.views[one] for user, one in workspace.modals.items()},
            "homes": {user: home_view(workspace, user) for user in workspace.homes},
            "sockets": workspace.sockets.state(),
            "faults": workspace.faults.listed(),
            "now": workspace.clock.now(),
        }

    async def _messages(self, body: Body) -> Json:
        """Return the messages of channel, or of thread_ts in it, oldest first; at most limit.

        With user, those that only others see are left out. They are Slack's message objects, with
        metadata, and beside them posted_at, ephemeral, seen_by, revisions and channel.
        """
        workspace, name = self._workspace, body.need("channel")
        user = workspace.user(body.user).id
        channel = workspace.direct(user) if name == "dm" else workspace.channel(name)
        found = channel.everything()
        if "user" in body.model_fields_set:
            found = [one for one in found if one.seen_by in (None, user)]
        if body.thread_ts:
            found = [one for one in found if body.thread_ts in (one.ts, one.thread_ts)]
        return {"messages": [message.to_json() for message in found[-body.limit :]]}

    async def _traffic(self, body: Body) -> Json:
        """Return the last requests in both directions, without tokens; those after the number after."""
        exchanges = self._workspace.traffic.exchanges
        return {"exchanges": [one for one in exchanges if one["number"] > body.after]}

    async def _summary(self, _body: Body) -> Json:
        """Return counts since the last reset, and how often each alert was posted.

        That is calls by method, refusals by error, 429s, missed acknowledgements, messages by channel,
        and messages by alert_id of their metadata.
        """
        workspace = self._workspace
        posted = {one.name: one.posted for one in workspace.channels.values() if one.messages}
        return {
            **workspace.traffic.summary(),
            "messages": posted,
            "alerts": dict(workspace.alerts),
            "sockets": workspace.sockets.state(),
        }


def _error(error: str) -> Response:
    return JSONResponse({"ok": False, "error": error}, status_code=400)
