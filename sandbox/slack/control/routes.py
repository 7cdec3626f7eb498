"""The control API: everything that people and the platform do, for tests and for the page. See docs/slack-stand-in.md."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from aiohttp import web

from sandbox.slack.control import actions, administration, reports, transcripts
from sandbox.slack.control.actions import Act
from sandbox.slack.state.errors import InvalidActionError, SlackError
from sandbox.slack.state.feed import Entry
from sandbox.slack.state.traffic import without_secrets
from sandbox.slack.workspace import Workspace

Handler = Callable[[Workspace, dict[str, Any]], Awaitable[dict[str, Any]]]

READING: dict[str, Handler] = {
    "state": reports.state,
    "summary": reports.summary,
    "messages": reports.messages,
    "traffic": reports.traffic,
    "transcript": transcripts.transcript,
    "view": reports.view,
    "world": reports.world,
}


def _recorded(name: str, handler: Callable[[Act], Awaitable[dict[str, Any]]]) -> Handler:
    """A handler that performs the action and records it in the transcript, unless it was impossible."""

    async def record(workspace: Workspace, body: dict[str, Any]) -> dict[str, Any]:
        speaker = actions.speaking_bot(workspace, body) if handler is actions.message else None
        act = Act(workspace, body, speaker)
        shown = {word: value for word, value in body.items() if word not in ("wait", "answers", "content")}
        short = without_secrets(shown)
        entry = Entry(at=workspace.clock.now(), kind="act", user=act.user.id, act=name, body=short)
        workspace.world.transcript.add(entry)
        try:
            return await handler(act)
        except (SlackError, InvalidActionError, KeyError, TypeError, ValueError):
            workspace.world.transcript.withdraw(entry)
            raise

    return record


_PEOPLE: dict[str, Callable[[Act], Awaitable[dict[str, Any]]]] = {
    "command": actions.command,
    "message": actions.message,
    "click": actions.click,
    "options": actions.options,
    "tools": actions.tools,
    "tool": actions.tool,
    "shortcut": actions.shortcut,
    "reaction": actions.reaction,
    "file": actions.upload,
    "view/submit": actions.submit_view,
    "view/close": actions.close_view,
    "home/open": actions.open_home,
    "assistant/open": actions.open_assistant,
    "read": actions.read,
}
_RECORDED = {name: _recorded(name, act) for name, act in _PEOPLE.items()}
"""What people do; it can be played again."""
ACTING: dict[str, Handler] = {
    **_RECORDED,
    "replay": partial(transcripts.replay, acts=_RECORDED),
    "reset": administration.reset,
    "keep": administration.keep,
    "world": administration.world,
    "request_url": administration.request_url,
    "settings": administration.change_settings,
    "manifest": administration.manifest,
    "app": administration.app,
    "faults": administration.faults,
    "clock": administration.clock,
    "sockets": administration.sockets,
    "token": administration.token,
    "uninstall": administration.uninstall,
    "scopes": administration.scopes,
    "channel": administration.channel,
    "members": administration.members,
    "user": administration.user,
    "event": administration.event,
}


def routes(workspace: Workspace) -> list[web.RouteDef]:
    """`GET /control/{what}` and `POST /control/{act}`: two routes, since each one takes aiohttp a tenth of a millisecond."""

    async def read(request: web.Request) -> web.Response:
        handler = READING.get(request.match_info["what"])
        if handler is None:
            raise _unknown(request, other=ACTING, method="POST")
        return await _answer(workspace, handler, dict(request.query))

    async def act(request: web.Request) -> web.Response:
        handler = ACTING.get(request.match_info["what"])
        if handler is None:
            raise _unknown(request, other=READING, method="GET")
        try:
            body = json.loads(await request.read() or b"{}")
        except (ValueError, RecursionError):
            return _error("body: not JSON")
        if not isinstance(body, dict):
            return _error("body: not an object")
        return await _answer(workspace, handler, body)

    path = "/control/{what:.+}"
    return [web.get(path, read), web.post(path, act)]


def _unknown(request: web.Request, *, other: Mapping[str, Handler], method: str) -> web.HTTPException:
    """404, or 405 where the other method has it."""
    if request.match_info["what"] in other:
        return web.HTTPMethodNotAllowed(request.method, [method])
    return web.HTTPNotFound()


async def _answer(workspace: Workspace, handler: Handler, body: dict[str, Any]) -> web.Response:
    try:
        workspace.post_scheduled()
        return web.json_response({"ok": True, **await handler(workspace, body)})
    except KeyError as error:
        return _error(f"missing: {error.args[0]}")
    except (SlackError, InvalidActionError, TypeError, ValueError, OverflowError) as error:
        return _error(str(error))


def _error(error: str) -> web.Response:
    return web.json_response({"ok": False, "error": error}, status=400)
