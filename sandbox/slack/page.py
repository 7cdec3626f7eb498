"""The page for people: its files, its content, and its live updates."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse

from sandbox.slack import seed
from sandbox.slack.acts import person
from sandbox.slack.errors import InvalidActionError
from sandbox.slack.feed import FeedEvent
from sandbox.slack.model import Channel, Json
from sandbox.slack.views import home_view, top_view
from sandbox.slack.workspace import Workspace

FOLDER = Path(__file__).parent / "static"
HEARTBEAT_SECONDS = 10.0
_MOST_UNREAD = 100


class Page:
    """The addresses that a browser asks for."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def index(self, _request: Request) -> Response:
        return FileResponse(FOLDER / "index.html")

    async def state(self, request: Request) -> Response:
        """Return what the page draws, as one person sees it."""
        try:
            user = person(self._workspace, request.query_params.get("user", seed.ANN.name)).id
        except InvalidActionError as error:
            return JSONResponse({"ok": False, "error": str(error)}, status_code=400)
        workspace = self._workspace
        settings = workspace.settings
        app = {
            "id": seed.APP.id,
            "name": seed.APP.name,
            "bot_user": seed.APP.user,
            "home": home_view(workspace, user),
            "posts_anywhere": "chat:write.public" in settings.scopes,
        }
        seen = [one for one in workspace.channels.values() if _is_seen(one, user)]
        return JSONResponse(
            {
                "boot": workspace.boot,
                "number": workspace.feed.number,
                "team": asdict(seed.TEAM),
                "me": user,
                "users": [one.to_slack() for one in workspace.users.values()],
                "groups": [group.to_slack() for group in workspace.groups.values()],
                "channels": [self._channel(channel, user) for channel in seen],
                "commands": [command.model_dump() for command in settings.commands],
                "shortcuts": [shortcut.model_dump() for shortcut in settings.shortcuts],
                "view": top_view(workspace, user),
                "apps": [app],
                "sockets": len(workspace.sockets.ready),
            }
        )

    def _channel(self, channel: Channel, user: str) -> Json:
        until = self._workspace.read_until.get((user, channel.id), "0")
        unread = 0
        for message in reversed(channel.messages.values()):
            if message.ts <= until or unread == _MOST_UNREAD:
                break
            unread += message.in_channel and message.user != user
        return {
            **channel.to_slack(viewer=user),
            "is_member": user in channel.members,
            "members": list(channel.members),
            "unread": unread,
        }

    async def feed(self, request: Request) -> Response:
        """Stream what one person may see, after the number that they know."""
        user = request.query_params.get("user", "")
        known = request.headers.get("Last-Event-ID") or request.query_params.get("after", "")
        after = int(known) if known.isdecimal() else 0
        return StreamingResponse(self._frames(after, user), media_type="text/event-stream")

    async def _frames(self, after: int, user: str) -> AsyncIterator[str]:
        yield "retry: 700\n\n"
        async for batch in self._workspace.feed.follow(after, heartbeat=HEARTBEAT_SECONDS):
            yield _frame(batch, user)


def _is_seen(channel: Channel, user: str) -> bool:
    return user in channel.members or not (channel.is_private or channel.direct)


def _frame(batch: list[FeedEvent] | None, user: str) -> str:
    if batch is None:
        return 'event: gap\ndata: {"kind": "gap", "data": {}}\n\n'
    seen = [event for event in batch if event.only_for in (None, user)]
    lines = [
        f"id: {event.number}\ndata: {json.dumps({'kind': event.kind, 'data': event.data})}\n\n"
        for event in seen
    ]
    return "".join(lines) or ": beat\n\n"
