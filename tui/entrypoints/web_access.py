"""Access to the dashboard in browsers, by a one-time link.

The token of a link becomes a cookie, as Jupyter does (https://jupyter-server.readthedocs.io/en/latest/operators/security.html),
so that a forwarded port alone shows nothing. It can be used once: a link that stays in a history, a log or a chat opens
nothing. What the cookie holds is kept in the state folder, so that open pages go on after a restart.
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
FILE = "dashboard-web-session"
FORM = re.compile(r"[0-9a-f]{48}")
OPEN_TO_ALL = ("/static/", "/reconnect.js")
"""Nothing in these tells of the account."""
UNKNOWN = (
    "Open the newest link that `outreach dashboard --web` printed: it opens the dashboard in one browser."
)
USED = f"This link has been used, or is of an earlier start. {UNKNOWN}"


class OneTimeToken:
    """The token of the newest link; `replaced` gets the next one when it is used."""

    def __init__(self, replaced: Callable[[str], object]) -> None:
        self.token = secrets.token_hex(24)
        self._replaced = replaced

    def use(self, given: str) -> bool:
        """Whether it is the token, which is no longer good then."""
        if not _fits(given, self.token):
            return False
        self.token = secrets.token_hex(24)
        self._replaced(self.token)
        return True


def kept_session(folder: Path) -> str:
    """What the cookies of this installation hold, for the owner alone to read; made where there is none. Raises OSError."""
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


def with_session(session: str, link: OneTimeToken, *, port: int) -> Any:
    """A middleware: an unused token in the address is exchanged for a cookie, and without that nothing is shown.

    Browsers keep one jar for all ports of a host (https://www.rfc-editor.org/rfc/rfc6265#section-8.5): the name tells the port.
    """
    name = f"{COOKIE}-{port}"

    @web.middleware
    async def check(request: web.Request, handler: Callable[[web.Request], Any]) -> web.StreamResponse:
        if request.path.startswith(OPEN_TO_ALL):
            return await _answer(handler, request)
        is_known = _fits(request.cookies.get(name, ""), session)
        given = request.query.get("token") if request.path == "/" else None
        if not is_known and not (given and link.use(given)):
            raise web.HTTPForbidden(text=USED if given else UNKNOWN)
        if given is not None:
            left = {key: value for key, value in request.query.items() if key != "token"}
            answer = web.HTTPSeeOther(request.rel_url.with_query(left))
            if not is_known:
                answer.set_cookie(name, session, max_age=YEAR, httponly=True, samesite="Strict")
            raise answer
        return await _answer(handler, request)

    return check


async def _answer(handler: Callable[[web.Request], Any], request: web.Request) -> web.StreamResponse:
    answer: web.StreamResponse = await handler(request)
    return answer


def _fits(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(errors="surrogateescape"), token.encode())
