"""The workspaces of a stand-in, by the tokens and client ids that open them."""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Mapping

from sandbox.slack.state.errors import SlackError
from sandbox.slack.state.oauth import Codes
from sandbox.slack.to_bot.installation import Installation
from sandbox.slack.workspace import Workspace


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
