"""The page: its files, its content, and its live updates."""

from __future__ import annotations

import json
from pathlib import Path

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from sandbox.slack.state.errors import InvalidActionError
from sandbox.slack.state.feed import FeedEvent
from sandbox.slack.state.model import Channel, Json
from sandbox.slack.workspace import Workspace

FOLDER = Path(__file__).parent / "static"
_KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
HEARTBEAT_SECONDS = 10.0
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def request_guard(port: int) -> Middleware:
    """Refuse other host names (a rebound name) and other origins (a page elsewhere that posts here)."""
    hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
    origins = {f"http://{host}" for host in hosts}
    # The SDK's built-in Socket Mode client leaves the port out:
    # https://github.com/slackapi/python-slack-sdk/blob/main/slack_sdk/socket_mode/builtin/internals.py
    hosts_of_path = {"/link": hosts | {"127.0.0.1", "localhost"}}

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.host not in hosts_of_path.get(request.path, hosts):
            return web.json_response({"ok": False, "error": "wrong_host"}, status=421)
        origin = request.headers.get("Origin")
        if origin is not None and origin not in origins:
            return web.json_response({"ok": False, "error": "wrong_origin"}, status=403)
        try:
            response = await handler(request)
        except ConnectionResetError:
            return web.Response(status=400)  # the sender hung up halfway, so nobody reads this answer
        except web.HTTPRequestEntityTooLarge:
            return web.json_response({"ok": False, "error": "request_too_large"}, status=413)
        if not response.prepared:
            for name, value in HEADERS.items():
                response.headers.setdefault(name, value)
        return response

    return guard


class Pages:
    """What a browser asks for."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def routes(self) -> list[web.RouteDef]:
        """Where everything is."""
        return [
            web.get("/", self.index),
            web.get("/archives/{rest:.*}", self.index),
            web.get("/page/state", self.state),
            web.get("/page/feed", self.feed),
            web.get("/assets/{name}", self.asset),
        ]

    async def index(self, request: web.Request) -> web.StreamResponse:
        return _file(FOLDER / "index.html")

    async def asset(self, request: web.Request) -> web.StreamResponse:
        known = {path.name: path for path in FOLDER.iterdir() if path.suffix in _KINDS}
        found = known.get(request.match_info["name"])
        return _file(found) if found else web.Response(status=404, text="no such file")

    async def state(self, request: web.Request) -> web.StreamResponse:
        """What the page draws, as one person sees it."""
        try:
            return web.json_response(_state(self._workspace, request.query.get("user", "ann")))
        except InvalidActionError as error:
            return web.json_response({"ok": False, "error": str(error)}, status=400)

    async def feed(self, request: web.Request) -> web.StreamResponse:
        """Server-sent events for one person, from the number after which they know nothing."""
        user = request.query.get("user", "")
        after = _number(request.headers.get("Last-Event-ID") or request.query.get("after"))
        response = web.StreamResponse(headers={**HEADERS, "Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b"retry: 700\n\n")
        try:
            async for batch in self._workspace.feed.follow(after, heartbeat=HEARTBEAT_SECONDS):
                await response.write(_frames(batch, user=user))
        except ConnectionError:
            pass  # the page is gone, or reconnects
        return response


def _number(value: str | None) -> int:
    return int(value) if value and value.isdecimal() else 0


def _frames(batch: list[FeedEvent] | None, *, user: str) -> bytes:
    if batch is None:
        return b'event: gap\ndata: {"kind": "gap", "data": {}}\n\n'
    lines = [
        f"id: {item.number}\ndata: {json.dumps({'kind': item.kind, 'data': item.data})}\n\n"
        for item in batch
        if item.only_for in (None, user)
    ]
    return "".join(lines).encode() or b": beat\n\n"


def _file(path: Path) -> web.Response:
    return web.Response(
        text=path.read_text(encoding="utf-8"), content_type=_KINDS[path.suffix], charset="utf-8"
    )


def _state(workspace: Workspace, user: str) -> Json:
    """What the page needs to draw everything but the messages, as `user` sees it."""
    person = workspace.people.person(user)
    if workspace.assistant.is_offered:
        workspace.assistant.conversation(person)
    apps = sorted(workspace.installations, key=lambda one: one is not workspace.first)
    installed = [one for one in workspace.installations if one.installed]
    return {
        "boot": workspace.boot,
        "number": workspace.feed.number,
        "team": {"id": workspace.world.team.id, "name": workspace.world.team.name},
        "me": person.id,
        "users": [one.to_slack() for one in workspace.world.users.values()],
        "groups": [group.to_slack() for group in workspace.world.groups.values()],
        "channels": [
            _channel(workspace, channel, person.id)
            for channel in workspace.world.channels.values()
            if person.id in channel.members or not (channel.is_private or channel.direct)
        ],
        "commands": [known for one in installed for known in one.settings.commands],
        "shortcuts": [
            {**known, "app": one.app.name} for one in installed for known in one.settings.shortcuts
        ],
        "view": workspace.people.views.top(person.id),
        "depth": len(workspace.world.stacks.get(person.id) or []),
        "apps": [
            {
                "id": one.app.id,
                "name": one.app.name,
                "bot_user": one.app.user,
                "home": workspace.people.views.home(person.id, one.app),
                "posts_anywhere": "chat:write.public" in one.settings.scopes,
            }
            for one in apps
        ],
        "sockets": sum(len(one.sockets.ready) for one in apps),
    }


def _channel(workspace: Workspace, channel: Channel, user: str) -> Json:
    until = workspace.world.read_until.get((user, channel.id), "0")
    unread = 0
    for message in reversed(channel.messages.values()):
        if message.ts <= until or unread == 100:
            break
        unread += message.in_channel and message.user != user
    return {
        **channel.to_slack(viewer=user),
        "is_member": user in channel.members,
        "members": list(channel.members),
        "unread": unread,
    }
