"""The secrets for deliveries: those of the settings, and those stored by `webhooks create`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from shared.records.records import RecordsUnavailable
from shared.settings import Settings, UnknownWorkspace
from shared.storage.webhook_file import WebhookFileUnreadable
from shared.store.webhooks import StoredSecrets, WebhookSubscriptions

RELOAD_SPACING = 0.02
"""Seconds from one look into the database to the next, however many deliveries match no secret."""
RELOAD_TIMEOUT = 1.0
FORGET_SECONDS = 5.0
"""A secret that was removed from the database still counts for so long at most."""

log = structlog.get_logger("webhook_secrets")
Keys = tuple[str, ...]


class WebhookSecrets:
    """`known` is for every delivery; `reload` for one that matches none, since a secret may have just been stored."""

    def __init__(
        self,
        settings: Settings,
        subscriptions: WebhookSubscriptions,
        *,
        now: Callable[[], float],
    ) -> None:
        self._settings, self._subscriptions, self._now = settings, subscriptions, now
        self._files = settings.webhook_files
        self._stored = StoredSecrets(secrets={}, problems={})
        self._general_problem: str | None = None
        self._loaded_at = 0.0
        self._loading = asyncio.Lock()
        self._next: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Import what earlier versions kept in a file, and read the stored secrets."""
        try:
            await self._subscriptions.encrypt_all()
        except RecordsUnavailable as error:
            log.warning("stored secrets not encrypted", error=str(error))
        await self._load()

    def workspace(self, name: str) -> str | None:
        """The workspace's name as the settings spell it, for any case of `name`; None if it doesn't exist."""
        if name in self._settings.workspaces:
            return name
        try:
            return self._settings.workspace(name).name
        except UnknownWorkspace:
            return None

    def known(self, workspace: str) -> Keys:
        configured = self._settings.workspaces[workspace].webhook_secrets
        own = (secret.get_secret_value() for secret in configured)
        return (*own, *self._stored.secrets.get(workspace, ()))

    def problem(self, workspace: str) -> str | None:
        return self._stored.problems.get(workspace) or self._general_problem

    @property
    def state(self) -> str:
        """`ok`, `none`, or why stored secrets cannot be read."""
        names = tuple(self._settings.workspaces)
        problems = filter(None, map(self.problem, names))
        return "; ".join(dict.fromkeys(problems)) or ("ok" if any(map(self.known, names)) else "none")

    @property
    def missing(self) -> bool:
        return any(self.problem(name) and not self.known(name) for name in self._settings.workspaces)

    async def reload(self, workspace: str) -> Keys:
        await self.refresh()
        return self.known(workspace)

    async def refresh(self) -> None:
        if self._next is None:
            self._next = asyncio.create_task(self._load_next(), name="webhook_secrets")
        await asyncio.shield(self._next)

    async def _load_next(self) -> None:
        async with self._loading:
            await asyncio.sleep(self._loaded_at + RELOAD_SPACING - self._now())
            self._next = None  # callers from here on wait for a later read
            await self._load()

    async def _load(self) -> None:
        problem: str | None = None
        try:
            async with asyncio.timeout(RELOAD_TIMEOUT):
                for file in self._files:
                    try:
                        await self._subscriptions.import_file(file)
                    except WebhookFileUnreadable as error:
                        problem = str(error)
                self._stored = await self._subscriptions.secrets()
        except (RecordsUnavailable, TimeoutError) as error:
            problem = str(error) or "the bot's database isn't responding"
        if problem and problem != self._general_problem:
            log.warning("webhook secrets cannot be read", error=problem)
        self._general_problem = problem
        self._loaded_at = self._now()
