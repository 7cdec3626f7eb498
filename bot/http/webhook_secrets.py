"""The secrets by which deliveries may be signed: those of the settings, and those stored since by `webhooks create`."""

from __future__ import annotations

from collections.abc import Callable

from shared.settings import Settings, UnknownWorkspace
from shared.storage.webhook_subscriptions import WebhookFile

FRESH_SECONDS = 1.0
"""Seconds between looks at the file of stored secrets, while signatures match."""

Keys = tuple[str, ...]


class WebhookSecrets:
    """`of` is for every delivery; `anew` for one that matched none, since a secret may have just been stored."""

    def __init__(self, settings: Settings, *, now: Callable[[], float]) -> None:
        self._settings, self._now = settings, now
        self._stored = WebhookFile(settings.state_dir / "webhooks.json")
        self._cached: dict[str, tuple[float, Keys]] = {}

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
        """Those of a workspace, read now. Raises `BookUnreadable`."""
        workspace = self._settings.workspaces[name]
        own = (secret.get_secret_value() for secret in workspace.webhook_secrets)
        keys = (*own, *self._stored.secrets(workspace.name))
        self._cached[name] = (self._now(), keys)
        return keys
