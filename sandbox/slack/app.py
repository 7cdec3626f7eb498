"""The app that the workspaces may install: it has one set of credentials, and a bot token in each workspace."""

from __future__ import annotations

import hmac
from collections.abc import Mapping

from sandbox.slack.state.oauth import Codes
from sandbox.slack.workspace import Workspace


class App:
    """The workspaces by their id, the first first, and the installations under way."""

    def __init__(self, workspaces: Mapping[str, Workspace]) -> None:
        self.workspaces = workspaces
        self.codes = Codes()

    @property
    def first(self) -> Workspace:
        return next(iter(self.workspaces.values()))

    def of_token(self, token: str) -> Workspace | None:
        """The workspace whose bot token this is."""
        for workspace in self.workspaces.values():
            if workspace.world.installed and hmac.compare_digest(
                token.encode(), workspace.bot_token.encode()
            ):
                return workspace
        return None
