"""The secrets by which deliveries may be signed: those of the settings, and those stored since by `webhooks create`."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from shared.settings import Settings, UnknownWorkspace
from shared.storage.webhook_subscriptions import WebhookFile, WebhookFileUnreadable

FRESH_SECONDS = 1.0
"""Seconds between looks at the file of stored secrets, while signatures match."""

log = structlog.get_logger("webhook_secrets")
Keys = tuple[str, ...]


class WebhookSecrets:
    """`known` is for every delivery; `reload` for one that matched none, since a secret may have just been stored."""

    def __init__(self, settings: Settings, *, now: Callable[[], float]) -> None:
        self._settings, self._now = settings, now
        self._stored = WebhookFile(settings.state_dir / "webhooks.json")
        self._cached: dict[str, tuple[float, Keys]] = {}
        self._last_read: dict[str, Keys] = {}
        """Stored secrets as they were when they could be read."""
        self.problem = ""
        """Why the stored secrets cannot be read."""

    def workspace(self, name: str) -> str | None:
        """The workspace's own name, whatever the case of `name`; None when there is no such workspace."""
        if name in self._settings.workspaces:
            return name
        try:
            return self._settings.workspace(name).name
        except UnknownWorkspace:
            return None

    def known(self, workspace: str) -> Keys:
        """Those of a workspace, at most a second old."""
        at, keys = self._cached.get(workspace, (0.0, ()))
        return keys if keys and 0.0 <= self._now() - at < FRESH_SECONDS else self.reload(workspace)

    def reload(self, name: str) -> Keys:
        """Those of a workspace, read now; of stored ones that cannot be read, those that were read before."""
        try:
            self._last_read[name] = self._stored.secrets(name)
            self.problem = ""
        except (WebhookFileUnreadable, OSError) as error:
            if not self.problem:
                log.warning("stored webhook secrets cannot be read", error=str(error))
            self.problem = str(error)
        keys = (*self._configured(name), *self._last_read.get(name, ()))
        self._cached[name] = (self._now(), keys)
        return keys

    def _configured(self, name: str) -> Keys:
        workspace = self._settings.workspaces[name]
        return tuple(secret.get_secret_value() for secret in workspace.webhook_secrets)

    @property
    def state(self) -> str:
        """`ok`, or why stored secrets cannot be read."""
        for name in self._settings.workspaces:
            self.reload(name)
        return self.problem or "ok"

    @property
    def missing(self) -> bool:
        """Whether a workspace has no secret because those that were stored cannot be read."""
        return bool(self.problem) and not all(self.known(name) for name in self._settings.workspaces)
