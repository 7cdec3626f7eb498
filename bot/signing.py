"""The secrets by which deliveries may be signed: those of the settings, and those stored since by `webhooks create`."""

from __future__ import annotations

from collections.abc import Callable

from shared.settings import Settings, UnknownWorkspace
from shared.subscriptions import SubscriptionBook

REMEMBERED = 1.0
"""Seconds between looks at the file of stored secrets, while signatures match."""

Keys = tuple[str, ...] | None


class Secrets:
    """`of` is for every delivery; `anew` for one that matched none, since a secret may have just been stored."""

    def __init__(self, settings: Settings, *, now: Callable[[], float]) -> None:
        self._settings, self._now = settings, now
        self._book = SubscriptionBook(settings.state_dir / "webhooks.json")
        self._known: dict[str, tuple[float, Keys]] = {}

    def of(self, name: str) -> Keys:
        """Those of a workspace, at most a second old; None when there is no such workspace."""
        at, keys = self._known.get(name, (0.0, None))
        return keys if keys and 0.0 <= self._now() - at < REMEMBERED else self.anew(name)

    def anew(self, name: str) -> Keys:
        """Those of a workspace, read now. Raises `BookUnreadable`."""
        try:
            workspace = self._settings.workspace(name)
        except UnknownWorkspace:
            return None
        own = (secret.get_secret_value() for secret in workspace.webhook_secrets)
        keys = (*own, *self._book.secrets(workspace.name))
        self._known[name] = (self._now(), keys)
        return keys
