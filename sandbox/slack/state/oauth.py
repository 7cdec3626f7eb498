"""Codes of installations under way: what was asked for, by whom, and until when the code counts."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from sandbox.slack.state.errors import SlackError

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
