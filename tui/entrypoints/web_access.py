"""Who may look through the dashboard in browsers: whoever has opened the link that the owner was shown.

The token of the link becomes a cookie, as Jupyter does (https://jupyter-server.readthedocs.io/en/latest/operators/security.html),
so that a forwarded port alone shows nothing. It is kept in the state folder: after a restart open pages go on.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aiohttp import web

COOKIE = "outreach-dashboard"
YEAR = 365 * 86_400
FILE = "dashboard-web-token"
FORM = re.compile(r"[0-9a-f]{48}")
OPEN_TO_ALL = ("/static/", "/reconnect.js")
"""Nothing in these tells of the account."""


def kept_token(folder: Path) -> str:
    """The token of this installation, for the owner alone to read; made where there is none. Raises OSError."""
    path = folder / FILE
    try:
        if FORM.fullmatch(found := path.read_text("ascii").strip()):
            return found
    except (FileNotFoundError, UnicodeDecodeError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    token = secrets.token_hex(24)
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
        file.write(token)
    return token


def with_token(token: str) -> Any:
    """A middleware: a good token in the address is exchanged for a cookie, and without that nothing is shown."""

    @web.middleware
    async def check(request: web.Request, handler: Callable[[web.Request], Any]) -> web.StreamResponse:
        if request.path.startswith(OPEN_TO_ALL):
            return await _answer(handler, request)
        if _fits(request.query.get("token", ""), token):
            left = {key: value for key, value in request.query.items() if key != "token"}
            answer = web.HTTPSeeOther(request.rel_url.with_query(left))
            answer.set_cookie(COOKIE, token, max_age=YEAR, httponly=True, samesite="Strict")
            raise answer
        if not _fits(request.cookies.get(COOKIE, ""), token):
            raise web.HTTPForbidden(
                text="Open the link with the token that `outreach dashboard --web` printed when it started."
            )
        return await _answer(handler, request)

    return check


async def _answer(handler: Callable[[web.Request], Any], request: web.Request) -> web.StreamResponse:
    answer: web.StreamResponse = await handler(request)
    return answer


def _fits(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(), token.encode())
