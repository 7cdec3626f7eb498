"""The control API: everything that people and the platform do, for tests and for the page. See docs/slack-stand-in.md."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from aiohttp import web

from sandbox.slack.control import actions, dials, reports
from sandbox.slack.people.people import ImpossibleActError
from sandbox.slack.state.errors import Refusal
from sandbox.slack.state.faults import UnknownFaultError

if TYPE_CHECKING:
    from sandbox.slack.server import SlackStandIn

Handler = Callable[["SlackStandIn", dict[str, Any]], Awaitable[dict[str, Any]]]

READING: dict[str, Handler] = {
    "state": reports.state,
    "summary": reports.summary,
    "messages": reports.messages,
    "traffic": reports.traffic,
}
ACTING: dict[str, Handler] = {
    "command": actions.command,
    "message": actions.message,
    "click": actions.click,
    "options": actions.options,
    "shortcut": actions.shortcut,
    "reaction": actions.reaction,
    "file": actions.upload,
    "view/submit": actions.submit_view,
    "view/close": actions.close_view,
    "home/open": actions.open_home,
    "read": actions.read,
    "reset": dials.reset,
    "request_url": dials.request_url,
    "settings": dials.change_settings,
    "manifest": dials.manifest,
    "faults": dials.faults,
    "clock": dials.clock,
    "sockets": dials.sockets,
    "token": dials.token,
    "scopes": dials.scopes,
    "channel": dials.channel,
    "members": dials.members,
    "user": dials.user,
    "event": dials.event,
}


def routes(standin: SlackStandIn) -> list[web.RouteDef]:
    """`GET /control/{what}` and `POST /control/{act}`."""
    reading = [web.get(f"/control/{name}", _reading(standin, handler)) for name, handler in READING.items()]
    acting = [web.post(f"/control/{name}", _acting(standin, handler)) for name, handler in ACTING.items()]
    return [*reading, *acting]


def _reading(standin: SlackStandIn, handler: Handler) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(request: web.Request) -> web.Response:
        return await _answer(standin, handler, dict(request.query))

    return handle


def _acting(standin: SlackStandIn, handler: Handler) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(request: web.Request) -> web.Response:
        raw = await request.read()
        try:
            body = json.loads(raw or b"{}")
        except (ValueError, RecursionError):
            return _refused("body: not JSON")
        if not isinstance(body, dict):
            return _refused("body: not an object")
        return await _answer(standin, handler, body)

    return handle


async def _answer(standin: SlackStandIn, handler: Handler, body: dict[str, Any]) -> web.Response:
    try:
        return web.json_response({"ok": True, **await handler(standin, body)})
    except KeyError as error:
        return _refused(f"missing: {error.args[0]}")
    except Refusal as refusal:
        return _refused(refusal.error)
    except (ImpossibleActError, UnknownFaultError, TypeError, ValueError) as error:
        return _refused(str(error))


def _refused(error: str) -> web.Response:
    return web.json_response({"ok": False, "error": error}, status=400)
