"""`/slack/install` and `/slack/oauth_redirect`: Slack workspaces install the bot by OAuth.

Bolt's flow does the steps. Its state is valid for ten minutes and one installation, and must match the browser's cookie.
Nothing that a visitor sends gets into Slack's address or onto a page, and no code or token into a log.

Source: docs.slack.dev/authentication/installing-with-oauth.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import logging
import secrets
from html import escape
from typing import Any
from urllib.parse import urljoin

import structlog
from slack_bolt.async_app import AsyncBoltRequest
from slack_bolt.oauth.async_callback_options import AsyncCallbackOptions, AsyncFailureArgs, AsyncSuccessArgs
from slack_bolt.oauth.async_oauth_flow import AsyncOAuthFlow
from slack_bolt.oauth.async_oauth_settings import AsyncOAuthSettings
from slack_bolt.response import BoltResponse
from slack_sdk.oauth import AuthorizeUrlGenerator
from slack_sdk.oauth.installation_store import Installation
from slack_sdk.oauth.installation_store.async_installation_store import AsyncInstallationStore
from slack_sdk.oauth.state_store.async_state_store import AsyncOAuthStateStore
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.http.webhook import Receive, Scope, Send
from bot.slack.manifest import SCOPES
from bot.slack.teams import Teams
from bot.slack.web_api import SlackError, WebApi
from shared.records.records import RecordsUnavailable
from shared.settings import SlackSettings

INSTALL, REDIRECT = "/slack/install", "/slack/oauth_redirect"
STATE_SECONDS = 600
COOKIE = "__Host-outreach-install"
"""The prefix makes browsers take it from this very host alone, over https (RFC 6265bis, 4.1.3.2)."""
MOST_QUERY = 4_096

log = structlog.get_logger("install")
_silent = logging.getLogger("bot.http.oauth_pages.sdk")
_silent.setLevel(logging.CRITICAL)  # it would log codes and states; what matters is logged here


class InstallationRefused(Exception):
    """Slack gave an installation that the bot cannot use; the text is for the person."""


class _States(AsyncOAuthStateStore):
    """States with their own expiry and signature, so that opening the install page stores nothing.

    Only one that led to an installation is written down, as used.
    """

    def __init__(self, teams: Teams, *, secret: str) -> None:
        self._teams = teams
        self._key = hmac.digest(secret.encode(), b"state of an installation", "sha256")

    @property
    def logger(self) -> logging.Logger:
        return _silent

    async def async_issue(self, *_args: Any, **_kwargs: Any) -> str:
        signed = f"{self._teams.store.database.clock() + STATE_SECONDS:.0f}.{secrets.token_urlsafe(32)}"
        return f"{signed}.{self._signature(signed)}"

    async def async_consume(self, state: str) -> bool:
        """Whether the bot made it within ten minutes, and no installation has used it."""
        signed, _, signature = state.rpartition(".")
        genuine = hmac.compare_digest(self._signature(signed).encode(), signature.encode(errors="replace"))
        if not genuine or self._teams.store.database.clock() >= float(signed.partition(".")[0]):
            return False
        return not await self._teams.store.state_is_used(state)

    def _signature(self, signed: str) -> str:
        return hmac.new(self._key, signed.encode(errors="replace"), "sha256").hexdigest()


class _Installations(AsyncInstallationStore):
    """Where the flow leaves an installation."""

    def __init__(self, teams: Teams) -> None:
        self._teams = teams

    @property
    def logger(self) -> logging.Logger:
        return _silent

    async def async_save(self, installation: Installation) -> None:
        await self._teams.store.save(installation)
        self._teams.forget()
        log.info("installed", team=installation.team_id, name=installation.team_name, by=installation.user_id)


class InstallFlow(AsyncOAuthFlow):
    """Bolt's flow; Slack is called where all of Slack is called."""

    def __init__(self, slack: WebApi, teams: Teams, settings: AsyncOAuthSettings) -> None:
        super().__init__(client=slack.client, logger=_silent, settings=settings)
        self._slack, self._teams = slack, teams
        self._address = AuthorizeUrlGenerator(
            client_id=settings.client_id, scopes=settings.scopes, authorization_url=settings.authorization_url
        )

    async def build_authorize_url(self, state: str, request: AsyncBoltRequest) -> str:
        """Without anything from the visitor: Bolt would put `team` into the address as it is."""
        return self._address.generate(state=state)

    async def append_set_cookie_headers(
        self, headers: dict[str, Any], set_cookie_value: str | None
    ) -> dict[str, Any]:
        """Slack's way back is a navigation from another site, which `Lax` lets through."""
        cookie = {"Set-Cookie": [f"{set_cookie_value}; SameSite=Lax"]} if set_cookie_value else {}
        return {**headers, **cookie}

    async def store_installation(self, request: AsyncBoltRequest, installation: Installation) -> None:
        """Keep it, if it is the first that came of its state. Raises `InstallationRefused`."""
        state = str(request.query.get("state", [""])[0])
        if not await self._teams.store.use_state(state, seconds=STATE_SECONDS):
            raise InstallationRefused(_FAILURES["invalid_state"])
        await super().store_installation(request, installation)

    async def run_installation(self, code: str) -> Installation | None:
        """Exchange the code; raises `InstallationRefused`."""
        try:
            given = await self._slack.exchange_code(
                code, client_id=self.settings.client_id, client_secret=self.settings.client_secret
            )
            _refuse_unusable(given)
            token = str(given.get("access_token") or "")
            own = await self._slack.call("auth.test", token=token)
        except SlackError as error:
            log.warning("installation failed", error=str(error))
            return None
        team, enterprise = given.get("team") or {}, given.get("enterprise") or {}
        return Installation(
            app_id=given.get("app_id"),
            enterprise_id=enterprise.get("id"),
            enterprise_name=enterprise.get("name"),
            team_id=team["id"],
            team_name=team.get("name"),
            bot_token=token,
            bot_id=own.get("bot_id"),
            bot_user_id=given.get("bot_user_id"),
            bot_scopes=given.get("scope") or "",
            user_id=str((given.get("authed_user") or {}).get("id") or ""),
            token_type=given.get("token_type"),
        )


def _refuse_unusable(given: AsyncSlackResponse) -> None:
    """Raise `InstallationRefused` for what the manifest doesn't offer: an organization's token, or one that expires.

    https://docs.slack.dev/enterprise/developing-for-enterprise-orgs
    https://docs.slack.dev/authentication/using-token-rotation
    """
    if given.get("is_enterprise_install") or not (given.get("team") or {}).get("id"):
        raise InstallationRefused(
            "The bot can't be installed for a whole organization. Remove the app from the organization, open "
            "/slack/install again, and choose a single workspace."
        )
    if given.get("refresh_token"):
        raise InstallationRefused(
            "This app's tokens expire (token rotation), which the bot doesn't support and Slack can't turn off again. "
            "Create a new app from manifest.yml."
        )


class OAuthPages:
    """The two addresses, as an ASGI application."""

    def __init__(self, slack: WebApi, teams: Teams, settings: SlackSettings) -> None:
        assert settings.client_id
        assert settings.client_secret
        base = settings.api_url or AsyncWebClient.BASE_URL
        secret = settings.client_secret.get_secret_value()
        self._flow = InstallFlow(
            slack,
            teams,
            AsyncOAuthSettings(
                client_id=settings.client_id,
                client_secret=secret,
                scopes=list(SCOPES),
                user_scopes=[],
                install_path=INSTALL,
                install_page_rendering_enabled=False,
                redirect_uri_path=REDIRECT,
                callback_options=AsyncCallbackOptions(success=_installed, failure=_failed),
                authorization_url=urljoin(f"{base.rstrip('/')}/", "../oauth/v2/authorize"),
                installation_store=_Installations(teams),
                state_store=_States(teams, secret=secret),
                state_cookie_name=COOKIE,
                state_expiration_seconds=STATE_SECONDS,
                logger=_silent,
            ),
        )

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        query = scope.get("query_string") or b""
        answer = _page("That address is too long", "Start again at /slack/install.", status=400)
        if len(query) <= MOST_QUERY:
            answer = await self._visit(scope, query.decode("ascii", errors="replace"))
        headers = {**answer.first_headers_without_set_cookie(), **_HEADERS}
        await send(
            {
                "type": "http.response.start",
                "status": answer.status,
                "headers": [
                    *((name.encode(), value.encode()) for name, value in headers.items()),
                    *((b"set-cookie", value.encode()) for value in answer.headers.get("set-cookie", ())),
                ],
            }
        )
        await send({"type": "http.response.body", "body": str(answer.body).encode()})

    async def _visit(self, scope: Scope, query: str) -> BoltResponse:
        headers = {
            name.decode("latin-1"): value.decode("latin-1")
            for name, value in scope["headers"]
            if name == b"cookie"
        }
        request = AsyncBoltRequest(body="", query=query, headers=headers)
        try:
            if scope["path"] == INSTALL:
                return await self._flow.handle_installation(request)
            return await self._flow.handle_callback(request)
        except InstallationRefused as refused:
            return _page("The bot was not installed", str(refused), status=400)
        except RecordsUnavailable as error:
            log.warning("database unavailable", error=str(error))
            return _page(
                "The bot was not installed",
                "The bot's database doesn't respond. Try again later.",
                status=503,
            )


_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:12vh auto;padding:0 1.25rem;color:#1d1c1d}"
    "h1{font-size:1.4rem;line-height:1.25}code{overflow-wrap:anywhere;background:#f4f4f4;padding:.1em .3em}"
    "a{color:#1264a3}"
)
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_HEADERS = {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "content-security-policy": f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
_AGAIN = "Start again at /slack/install."
_FAILURES = {
    "access_denied": "The installation was cancelled in Slack. " + _AGAIN,
    "invalid_browser": "This browser didn't start the installation, or started it more than ten minutes ago. "
    "Start again at /slack/install, over https and with cookies enabled.",
    "invalid_state": "The installation took longer than ten minutes, or this page was opened twice. "
    + _AGAIN,
    "missing_code": "Slack's response had no code. Start again at /slack/install. " + _AGAIN,
    "invalid_code": "Slack rejected the installation. Start again at /slack/install. If it fails again, the reason is in "
    "the bot's log.",
}


async def _installed(args: AsyncSuccessArgs) -> BoltResponse:
    installation = args.installation
    return _page(
        f"Outreach is installed in {installation.team_name or installation.team_id}",
        "It has no access to an outreach workspace there yet. The person who runs the bot can give it access:",
        command=f"outreach slack-workspaces grant {installation.team_id} @workspace",
        cookie=args.settings.state_utils.build_set_cookie_for_deletion(),
    )


async def _failed(args: AsyncFailureArgs) -> BoltResponse:
    """In our words alone: the reason may come from the address."""
    return _page(
        "The bot was not installed",
        _FAILURES.get(args.reason, "Slack reported an error. " + _AGAIN),
        status=args.suggested_status_code,
        cookie=args.settings.state_utils.build_set_cookie_for_deletion(),
    )


def _page(title: str, text: str, *, command: str = "", status: int = 200, cookie: str = "") -> BoltResponse:
    shown = escape(text).replace(INSTALL, f'<a href="{INSTALL}">{INSTALL}</a>')
    typed = f"<p><code>{escape(command)}</code></p>" if command else ""
    body = (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style><h1>{escape(title)}</h1><p>{shown}</p>{typed}</html>"
    )
    return BoltResponse(status=status, body=body, headers={"Set-Cookie": cookie} if cookie else {})
