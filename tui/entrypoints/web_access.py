"""Access to the dashboard in browsers: by a one-time link, or by the name that a proxy tells.

The token of a link becomes a cookie, as Jupyter does (https://jupyter-server.readthedocs.io/en/latest/operators/security.html),
so that a forwarded port alone shows nothing. It can be used once: a link that stays in a history, a log or a chat opens
nothing. Sessions are kept in the state folder, so that open pages go on after a restart, for a day unless it is set
otherwise.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import logging
import os
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from aiohttp import web

from shared.storage.private_file import make_private_folder

logger = logging.getLogger(__name__)

COOKIE = "outreach-dashboard"
FILE = "dashboard-web-sessions.json"
OPEN_TO_ALL = ("/static/", "/page.js", "/page.css")
"""Nothing in these tells of the account."""
SIGN_IN, SIGN_OUT = "/sign-in", "/sign-out"
USER, PROTOCOL = "X-Forwarded-User", "X-Forwarded-Proto"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}")
"""What a person can be called: it stands in the audit, and on a viewer's command line."""
VIEWER, OPERATOR = "viewer", "operator"
UNKNOWN = (
    "Open the newest link that `outreach dashboard --web` printed, or paste it here. It opens one browser."
)
USED = "This link has been used, or is of an earlier start. Use the newest one."
ODD_NAME = "The proxy must name one person, by up to 64 letters, digits and . _ @ + -"


@dataclass(frozen=True, slots=True)
class Person:
    """Who looks. Without names in the settings, everyone is the same viewer, who has none."""

    name: str = ""
    role: str = VIEWER


@dataclass(frozen=True, slots=True, kw_only=True)
class WebOptions:
    """The `[dashboard.web]` section with its defaults."""

    people: Mapping[str, str] = field(default_factory=dict)
    session_hours: float = 24.0
    trusted_proxies: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    listen: str = "127.0.0.1"

    @classmethod
    def of(cls, dashboard: Mapping[str, Any]) -> WebOptions:
        """From `[dashboard]`, as the settings have checked it."""
        section = dashboard.get("web")
        return cls(**section) if isinstance(section, Mapping) else cls()

    @property
    def owners(self) -> tuple[Person, ...]:
        """Those who get a link each."""
        return tuple(Person(*one) for one in self.people.items()) or (Person(),)

    @property
    def link_host(self) -> str:
        """What a browser on this machine opens."""
        found = ipaddress.ip_address(self.listen)
        if found.is_unspecified:
            return "127.0.0.1"
        return f"[{found}]" if found.version == 6 else str(found)

    def of_link(self, name: str) -> Person | None:
        """Who has signed in with a link; None for who isn't in the settings any more."""
        return next((one for one in self.owners if one.name == name), None)

    def of_proxy(self, name: str) -> Person:
        return Person(name, self.people.get(name, VIEWER))

    def trusts(self, address: str | None) -> bool:
        """Whether a proxy at this address is believed."""
        try:
            found = ipaddress.ip_address(address or "")
        except ValueError:
            return False
        return any(found in ipaddress.ip_network(one, strict=False) for one in self.trusted_proxies)


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


class Session(NamedTuple):
    """Who signed in, and until when, in Unix seconds; `key` is a hash of what the cookie holds."""

    key: str
    name: str
    until: float


class Sessions:
    """The sessions of this installation, in a file for the owner alone to read. Raises OSError."""

    def __init__(self, folder: Path, *, seconds: float, now: Callable[[], float] = time.time) -> None:
        self._path = folder / FILE
        self._seconds = seconds
        self._now = now
        self._kept = {one.key: one for one in _read(self._path)}

    def begin(self, name: str) -> str:
        """What the cookie of another session holds."""
        token = secrets.token_hex(24)
        session = Session(_key(token), name, self._now() + self._seconds)
        self._kept[session.key] = session
        self._keep()
        return token

    def find(self, token: str) -> Session | None:
        found = self._kept.get(_key(token))
        return found if found and self._now() < found.until <= self._now() + self._seconds else None

    def end(self, session: Session) -> None:
        self._kept.pop(session.key, None)
        self._keep()

    def _keep(self) -> None:
        now = self._now()
        self._kept = {key: one for key, one in self._kept.items() if now < one.until}
        make_private_folder(self._path.parent)
        new = self._path.with_suffix(".new")
        new.unlink(missing_ok=True)
        with os.fdopen(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            json.dump([one._asdict() for one in self._kept.values()], file)
        new.replace(self._path)


def _read(path: Path) -> list[Session]:
    """A damaged file holds no sessions: people sign in again."""
    try:
        return [
            Session(str(one["key"]), str(one["name"]), float(one["until"]))
            for one in json.loads(path.read_text("utf-8"))
        ]
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, TypeError):
        logger.warning("%s can't be read, so everyone must sign in again", path.name)
        return []


def _key(token: str) -> str:
    """The file holds no token: who reads a copy of it can't sign in."""
    return hashlib.sha256(token.encode(errors="surrogateescape")).hexdigest()


PERSON: web.RequestKey[Person] = web.RequestKey("person", Person)
SESSION: web.RequestKey[Session | None] = web.RequestKey("session")
"""None for whom a proxy has signed in."""


class Access:
    """Who may look: puts the person and, of who signed in with a link, the session into each request."""

    def __init__(
        self,
        options: WebOptions,
        *,
        sessions: Sessions,
        links: Mapping[str, OneTimeToken],
        port: int,
        ended: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._options = options
        self._sessions = sessions
        self._links = links
        # Browsers keep one jar for all ports of a host (https://www.rfc-editor.org/rfc/rfc6265#section-8.5).
        self._cookie = f"{COOKIE}-{port}"
        self._ended = ended
        self._page = files("tui.entrypoints").joinpath("sign_in.html").read_text("utf-8")

    @property
    def middleware(self) -> Any:
        @web.middleware
        async def check(request: web.Request, handler: Callable[[web.Request], Any]) -> web.StreamResponse:
            if not request.path.startswith(OPEN_TO_ALL):
                self._identify(request)
            answer: web.StreamResponse = await handler(request)
            return answer

        return check

    def _identify(self, request: web.Request) -> None:
        """Raises the answer to those who may not see what they ask for, and to those who come with a link."""
        is_trusted = self._options.trusts(request.remote)
        names = [one.strip() for one in request.headers.getall(USER, ())]
        if is_trusted and any(names):
            # Two: a proxy that adds its name to one that came from outside.
            if len(names) > 1 or not NAME.fullmatch(names[0]):
                raise web.HTTPForbidden(text=ODD_NAME)
            request[PERSON] = self._options.of_proxy(names[0])
            request[SESSION] = None
            return
        session = self._sessions.find(request.cookies.get(self._cookie, ""))
        person = self._options.of_link(session.name) if session else None
        is_secure = request.secure or (is_trusted and request.headers.get(PROTOCOL) == "https")
        given = request.query.get("token") if request.path == "/" else None
        if person is None and (request.path, request.method) == (SIGN_IN, "POST"):
            return  # the form brings the token
        if person is None:
            self._open(request, given or "", is_secure=is_secure)
        if given is not None:
            raise web.HTTPSeeOther(_without_token(request))
        request[PERSON] = person
        request[SESSION] = session

    def _open(self, request: web.Request, given: str, *, is_secure: bool) -> NoReturn:
        """Begin a session with an unused token; raises either answer."""
        person = next((one for one in self._options.owners if self._links[one.name].use(given)), None)
        if person is None:
            raise self._refusal(USED if given else "", is_page=request.path in {"/", SIGN_IN})
        logger.info("%s signed in to the dashboard in a browser", person.name or "a viewer")
        answer = web.HTTPSeeOther(_without_token(request))
        answer.set_cookie(
            self._cookie,
            self._sessions.begin(person.name),
            max_age=int(self._options.session_hours * 3600),
            httponly=True,
            samesite="Strict",
            secure=is_secure,
        )
        raise answer

    def _refusal(self, problem: str, *, is_page: bool) -> web.HTTPForbidden:
        if not is_page:
            return web.HTTPForbidden(text=problem or UNKNOWN)
        page = self._page.replace("{problem}", escape(problem)).replace("{hint}", escape(UNKNOWN))
        return web.HTTPForbidden(text=page, content_type="text/html", headers=PAGE_HEADERS)

    async def sign_in(self, request: web.Request) -> web.StreamResponse:
        """The form: a link, or the token in it."""
        if PERSON not in request:
            form = await request.post()
            given = str(form.get("link", "")).strip().rpartition("token=")[2].partition("&")[0]
            is_trusted = self._options.trusts(request.remote)
            secure = request.secure or (is_trusted and request.headers.get(PROTOCOL) == "https")
            self._open(request, given, is_secure=secure)
        raise web.HTTPSeeOther("/")

    async def sign_out(self, request: web.Request) -> web.StreamResponse:
        """End the session, and every page that is open in it."""
        if session := request.get(SESSION):
            self._sessions.end(session)
            self._ended(session.key)
        answer = web.HTTPSeeOther("/")
        answer.del_cookie(self._cookie)
        raise answer


POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
PAGE_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def _without_token(request: web.Request) -> str:
    """The page itself, by its path alone: `//evil.example` in a path leads to no other site."""
    left = {key: value for key, value in request.query.items() if key != "token"}
    return str(request.rel_url.with_path("/").with_query(left))


def _fits(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(errors="surrogateescape"), token.encode())
