"""Slack's own page of an installation: which workspace, and what the app may do there.

Source: docs.slack.dev/authentication/installing-with-oauth.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from html import escape
from urllib.parse import urlencode, urlsplit

from aiohttp import web

from sandbox.slack.pages.page import HEADERS
from sandbox.slack.state.errors import SlackError, refuse_if
from sandbox.slack.state.settings import AppSettings
from sandbox.slack.workspaces import Grant, Workspaces, matches

PATH = "/oauth/v2/authorize"
ORGANIZATION = "organization"
"""What the form says instead of a team for all workspaces of an organization."""


class Authorize:
    """`GET` shows the request, `POST` carries out what the person decided."""

    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces

    def routes(self) -> list[web.RouteDef]:
        return [web.get(PATH, self.ask), web.post(PATH, self.decide)]

    async def ask(self, request: web.Request) -> web.StreamResponse:
        try:
            app = self._workspaces.of_client(request.query.get("client_id", ""))
            target = _target(request.query, app.settings)
        except SlackError as error:
            return _page(f"<h1>Something went wrong</h1><p>{escape(error.error)}</p>", status=400)
        name = escape(app.app.name)
        forms = "".join(
            f'<form method="post"><input type="hidden" name="team" value="{one.contents.team.id}">'
            f"<p>Install {name} in <b>{escape(one.contents.team.name)}</b></p>"
            '<button name="decision" value="allow">Allow</button> '
            '<button name="decision" value="cancel">Cancel</button></form>'
            for one in self._workspaces.of_app(app)
            if request.query.get("team") in {None, "", one.contents.team.id}
        )
        if app.settings.org_deploy:
            forms += (
                f'<form method="post"><input type="hidden" name="team" value="{ORGANIZATION}">'
                '<button name="decision" value="allow">Allow for the whole organization</button></form>'
            )
        scopes = "".join(f"<li>{escape(scope)}</li>" for scope in _scopes(request.query))
        parts = urlsplit(target)
        return _page(
            f"<h1>{name} requests permission</h1><ul>{scopes}</ul>{forms}",
            form_action=f"'self' {parts.scheme}://{parts.netloc}",
        )

    async def decide(self, request: web.Request) -> web.StreamResponse:
        try:
            app = self._workspaces.of_client(request.query.get("client_id", ""))
            target = _target(request.query, app.settings)
        except SlackError as error:
            return _page(f"<h1>Something went wrong</h1><p>{escape(error.error)}</p>", status=400)
        form = await request.post()
        answer = {"error": "access_denied"}
        if form.get("decision") == "allow":
            team = str(form.get("team"))
            known = {one.contents.team.id: one for one in self._workspaces.of_app(app)}
            if app.settings.org_deploy:
                known[ORGANIZATION] = next(iter(known.values()))
            if (workspace := known.get(team)) is None:
                return _page("<h1>Something went wrong</h1><p>invalid_team</p>", status=400)
            admin = next(user for user in workspace.world.users.values() if user.is_admin)
            grant = Grant(
                client_id=app.credentials.client_id,
                team=workspace.contents.team.id,
                user=admin.id,
                scopes=_scopes(request.query),
                redirect_uri=request.query.get("redirect_uri", ""),
                at=workspace.clock.now(),
                organization=team == ORGANIZATION,
            )
            answer = {"code": self._workspaces.codes.issue(grant)}
        query = urlencode({**answer, "state": request.query.get("state", "")})
        raise web.HTTPFound(f"{target}{'&' if '?' in target else '?'}{query}")


def _target(query: Mapping[str, str], settings: AppSettings) -> str:
    """Where the answer goes; raises `SlackError` (bad_redirect_uri, no_scopes)."""
    named = query.get("redirect_uri", "")
    refuse_if(
        not settings.redirect_urls or (named and not matches(named, settings.redirect_urls)),
        "bad_redirect_uri",
    )
    refuse_if(not _scopes(query), "no_scopes")
    return named or settings.redirect_urls[0]


def _scopes(query: Mapping[str, str]) -> list[str]:
    return [scope for scope in query.get("scope", "").split(",") if scope]


_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:6vh auto;padding:0 1.25rem;color:#1d1c1d}"
    "h1{font-size:1.4rem;line-height:1.25}ul{columns:2;padding-left:1.25rem}"
    "form{border-top:1px solid #ddd;padding:.25rem 0 1rem}"
    "button{font:inherit;font-weight:600;padding:.4rem 1rem;border:1px solid #bbb;border-radius:6px;background:#fff}"
    'button[value="allow"]{background:#1f6f5f;border-color:#1f6f5f;color:#fff}'
)
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()


def _page(body: str, *, status: int = 200, form_action: str = "'none'") -> web.Response:
    policy = f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; form-action {form_action}; base-uri 'none'; frame-ancestors 'none'"
    return web.Response(
        text='<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>Slack stand-in</title><style>{_STYLE}</style><body>{body}</body></html>",
        content_type="text/html",
        status=status,
        # Without a referrer, a browser sends `Origin: null` with the form, which is refused as another page's.
        # https://developer.mozilla.org/en-US/docs/Web/HTTP/Reference/Headers/Origin
        headers={**HEADERS, "Content-Security-Policy": policy, "Referrer-Policy": "same-origin"},
    )
