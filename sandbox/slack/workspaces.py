"""The workspaces of a stand-in, by the tokens and client ids that open them; codes of installations under way."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sandbox.slack.state.errors import SlackError
from sandbox.slack.to_bot.installation import Installation
from sandbox.slack.workspace import Workspace

CODE_SECONDS = 600.0
"""A code must be exchanged within ten minutes (docs.slack.dev/authentication/installing-with-oauth)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A workspace allowed the app; `redirect_uri` is empty if the app gave none."""

    client_id: str
    team: str
    user: str
    scopes: Sequence[str]
    redirect_uri: str
    at: float
    organization: bool = False
    """For all workspaces of the team's organization."""


class Codes:
    """Temporary codes, each good for one exchange."""

    def __init__(self) -> None:
        self._grants: dict[str, Grant] = {}

    def issue(self, grant: Grant) -> str:
        code = f"{secrets.randbelow(10**12)}.{secrets.randbelow(10**12)}.{secrets.token_hex(32)}"
        self._grants[code] = grant
        return code

    def redeem(self, code: str, *, client_id: str, redirect_uri: str, now: float) -> Grant:
        """The grant of a code, once; raises `SlackError` (invalid_code, bad_redirect_uri)."""
        grant = self._grants.pop(code, None)
        if grant is None or grant.client_id != client_id or now - grant.at > CODE_SECONDS:
            raise SlackError("invalid_code")
        if redirect_uri != grant.redirect_uri:
            raise SlackError("bad_redirect_uri")
        return grant


def matches(redirect_uri: str, configured: Sequence[str]) -> bool:
    """Whether an address is a configured redirect URL, or below one.

    https://docs.slack.dev/authentication/installing-with-oauth
    """
    return any(
        redirect_uri == url or redirect_uri.startswith((f"{url.rstrip('/')}/", f"{url}?"))
        for url in configured
    )


class Workspaces:
    """All of them by their id, the first first, and the installations under way."""

    def __init__(self, workspaces: Mapping[str, Workspace]) -> None:
        self.by_id = workspaces
        self.codes = Codes()

    @property
    def first(self) -> Workspace:
        return next(iter(self.by_id.values()))

    def installations(self) -> Iterator[tuple[Workspace, Installation]]:
        for workspace in self.by_id.values():
            for one in workspace.installations:
                yield workspace, one

    def of_token(self, token: str) -> tuple[Workspace, Installation] | None:
        """The workspace and the app whose bot token this is."""
        for workspace, one in self.installations():
            if one.installed and hmac.compare_digest(token.encode(), one.token.encode()):
                return workspace, one
        return None

    def of_app_token(self, token: str) -> tuple[Workspace, Installation] | None:
        """The first workspace of the app whose app-level or configuration token this is."""
        for workspace, one in self.installations():
            for known in (one.credentials.app_token, one.credentials.config_token):
                if hmac.compare_digest(token.encode(), known.encode()):
                    return workspace, one
        return None

    def of_client(self, client_id: str) -> Installation:
        """The app of a client id, in its first workspace; raises `SlackError` (invalid_client_id)."""
        found = (one for _, one in self.installations() if one.credentials.client_id == client_id)
        if (first := next(found, None)) is None:
            raise SlackError("invalid_client_id")
        return first

    def of_app(self, installation: Installation) -> list[Workspace]:
        return [one for one, known in self.installations() if known.app == installation.app]
