"""Checks Slack and the service in the background, so that `/readyz` can answer at once."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from bot.core import Core
from bot.http.webhook import DeliveryIntake, WebhookSecrets
from bot.runtime import visit
from bot.slack.socket_mode import SocketMode
from bot.slack.web_api import SlackError
from bot.telemetry import metrics
from shared.api.errors import OutreachError
from shared.commands.base import CommandContext
from shared.commands.help import Doctor
from shared.commands.status import REJECTIONS
from shared.domain.card import Button, Card, Fact, Tone
from shared.records import Actor, RecordsUnavailable
from shared.store.store import Backlog

TIMEOUT = 8
CHECK_TIMEOUT = 2
WRITTEN_SECONDS = 1.0
"""A write that succeeded proves for so long that the next will."""
OK, NOT_CHECKED = "ok", "not checked yet"
"""The state of a part that works, and of one that nobody has asked yet; any other says what is wrong."""
UNROUTED_SECONDS = 60.0
"""Age of the oldest unrouted delivery from which on the bot is not ready; usually it is below one second."""


class ReadinessProbe:
    """`probe` now and then; `readiness` and `update_gauges` at any time."""

    def __init__(self, core: Core, intake: DeliveryIntake, secrets: WebhookSecrets, *, instance: str) -> None:
        self._core, self._store, self._instance = core, core.store, instance
        self._intake, self._secrets = intake, secrets
        self.socket_mode: SocketMode | None = None
        """The connection in Socket Mode, where the settings want one."""
        self._check: asyncio.Task[Mapping[str, Any]] | None = None
        self._written_at = float("-inf")
        self._slack = NOT_CHECKED
        self._api = dict.fromkeys(core.contexts.clients, NOT_CHECKED)

    async def self_test(self, context: CommandContext) -> Card:
        """The answer to `doctor`: each part of the running bot, as far as the reader's workspace and channels go."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(TIMEOUT):
                await self.probe()
        _, state = await self.readiness()
        closed = state.get("channels", {}).items()
        channels = [await self._closed(channel, error, context.actor) for channel, error in closed]
        if not context.workspace.alert_channel:
            channels.append("There is no alert channel. Set OUTREACH_ALERT_CHANNEL.")
        parts = {
            "Service": self._api[context.workspace.name],
            "Slack": state["slack"],
            "Database": state["database"],
            "Webhook secrets": state["webhook_secrets"],
            "Channels": " ".join(channels) or OK,
            "Bot": "; ".join(context.problems()) or OK,
        }
        if self.socket_mode:
            parts["Socket Mode"] = self.socket_mode.trouble or OK
        failed = sum(word != OK for word in parts.values())
        return Card(
            f"{failed} of {len(parts)} checks failed" if failed else "All checks passed",
            tone=Tone.BAD if failed else Tone.GOOD,
            failure=failed > 0,
            facts=tuple(
                Fact(label, word, tone=Tone.GOOD if word == OK else Tone.BAD) for label, word in parts.items()
            ),
            buttons=(Button("Check again", Doctor()),),
            footer="`outreach doctor` in a shell checks more, and each setting.",
        )

    async def probe(self) -> None:
        """Ask Slack and the service of each workspace how they are."""
        await asyncio.gather(self._ask_slack(), visit(self._core.contexts.clients, self._ask_api))

    async def _ask_slack(self) -> None:
        try:
            await self._core.slack.call("auth.test", seconds=TIMEOUT)
        except SlackError as error:
            self._slack = error.code if error.status else f"unreachable: {error.code}"
        else:
            self._slack = OK

    async def _ask_api(self, name: str) -> None:
        try:
            await self._core.contexts.clients[name].list_sequences()
        except OutreachError as error:
            self._api[name] = f"{type(error).__name__}: {error.message}"
        else:
            self._api[name] = OK

    async def readiness(self) -> tuple[bool, Mapping[str, Any]]:
        """Answer if deliveries can be accepted and become alerts, and with the state of everything else."""
        database = await self._database()
        await self._secrets.refresh()
        unrouted = database.get("oldest_unrouted_seconds")
        state = {
            "instance": self._instance,
            **database,
            "webhook_secrets": self._secrets.state,
            "slack": self._core.outbox.slack_error or self._slack,
            "tasks": self._core.supervisor.state,
            "socket_mode": self.socket_mode.state if self.socket_mode else "off",
            "api": "; ".join(sorted(set(self._api.values()))),
            "workspaces": {name: {"api": state} for name, state in self._api.items()},
        }
        routing = unrouted is not None and unrouted < UNROUTED_SECONDS
        return routing and not self._core.supervisor.problems() and not self._secrets.missing, state

    async def _database(self) -> Mapping[str, Any]:
        """Read the state of the database; requests that come together share one look."""
        if self._check is None or self._check.done():
            self._check = asyncio.create_task(self._check_database(), name="readiness")
        # Who asked first may go away, while others wait for the same look.
        return await asyncio.shield(self._check)

    async def _check_database(self) -> Mapping[str, Any]:
        """Its state, and the channels that take no posts with Slack's word, and how many posts it refused or may have."""
        try:
            async with asyncio.timeout(CHECK_TIMEOUT):
                await self._check_writable()
                backlogs = (await self._store.backlogs()).values()
                return {
                    "database": OK,
                    "oldest_unrouted_seconds": await self._store.deliveries.oldest_unrouted_age(),
                    "channels": await self._store.posting.broken(),
                    "refused_posts": sum((backlog.refusals for backlog in backlogs), Counter[str]()),
                    "unconfirmed_posts": {
                        state: sum(backlog.counts[state] for backlog in backlogs)
                        for state in ("uncertain", "unsure")
                    },
                }
        except (RecordsUnavailable, TimeoutError) as error:
            return {"database": str(error) or "no response"}  # the rest is unknown

    async def _closed(self, channel: str, error: str, viewer: Actor) -> str:
        """A channel that takes no posts; a private one has no name for those who aren't in it."""
        name = channel if await self._core.directory.sees(channel, viewer) else "A private channel"
        fix = " Type /invite @outreach there." if error == "not_in_channel" else ""
        return f"{name}: {REJECTIONS.get(error, error)}.{fix}"

    async def _check_writable(self) -> None:
        """Write at most once a second, however often it is called: only a write detects a full disk.

        After deliveries were refused, as much is written as they had.
        """
        refused = self._intake.refused_bytes
        if not refused and time.monotonic() - self._written_at < WRITTEN_SECONDS:
            return
        await (self._store.arrivals.try_out(refused) if refused else self._store.arrivals.check())
        self._written_at, self._intake.refused_bytes = time.monotonic(), 0

    async def update_gauges(self) -> None:
        """Update the gauges, as far as the database responds."""
        for name, client in self._core.contexts.clients.items():
            counts = {
                metrics.API_REQUESTS: client.counts.requests,
                metrics.API_THROTTLED: client.counts.throttled,
            }
            for counter, count in counts.items():
                counter.labels(name).reset()  # the client counts; nothing reads the metric in between
                counter.labels(name).inc(count)
        try:
            async with asyncio.timeout(CHECK_TIMEOUT):
                backlogs = await self._store.backlogs()
        except (RecordsUnavailable, TimeoutError):
            return
        now = self._store.database.clock()
        metrics.REFUSED_ALERTS.clear()
        for workspace, backlog in backlogs.items():
            for word, count in backlog.refusals.items():
                metrics.REFUSED_ALERTS.labels(workspace, word).set(count)
        for name in self._core.contexts.clients:
            backlog = backlogs.get(name, Backlog())
            for state, count in backlog.counts.items():
                metrics.ALERTS.labels(name, state).set(count)
            age = 0.0 if backlog.oldest_at is None else max(0.0, now - backlog.oldest_at)
            metrics.OLDEST.labels(name).set(age)
