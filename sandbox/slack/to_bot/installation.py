"""An app in a workspace: identity, permissions, and connections."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Self

from sandbox.slack.state.model import App
from sandbox.slack.state.rate_limits import RateLimiter
from sandbox.slack.state.settings import AppSettings, Credentials
from sandbox.slack.to_bot.delivery import Delivery
from sandbox.slack.to_bot.sockets import Sockets


@dataclass(slots=True, kw_only=True, eq=False)
class Installation:
    """One app in one workspace; in several workspaces it has the same settings, credentials and sockets.

    `joins` are the channels in which its bot is whenever the workspace starts over.
    """

    app: App
    settings: AppSettings
    credentials: Credentials
    sockets: Sockets
    delivery: Delivery
    token: str
    installed: bool = True
    revoked: bool = False
    joins: tuple[str, ...] = ()
    rate_limiter: RateLimiter = field(default_factory=RateLimiter)

    def kept(self) -> Self:
        return replace(self, settings=replace(self.settings))

    def restore(self, kept: Self) -> None:
        """Return to a copy; connections stay."""
        for one in fields(self.settings):
            setattr(self.settings, one.name, getattr(kept.settings, one.name))
        self.app, self.token, self.installed, self.revoked = kept.app, kept.token, kept.installed, False
        self.sockets.silent = self.sockets.disabled = False
        self.delivery.forget()
