"""The outreach service as a whole: one port, one account in memory, and two tasks for the campaign and the deliveries."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any

from starlette.types import Receive, Scope, Send

from sandbox import SCENARIOS
from sandbox.asgi_server import Block, bind, serving
from sandbox.clock import Clock
from sandbox.service import founding, scenarios
from sandbox.service.account import copied
from sandbox.service.api import routes
from sandbox.service.api.guard import Caller, Guard
from sandbox.service.campaign import Campaign
from sandbox.service.control import control_app
from sandbox.service.deliveries import TIMEOUT, Deliveries
from sandbox.service.dns.resolvers import Resolvers
from sandbox.service.dns.zones import AccountZones, ZoneChange

_TICK_SECONDS = 0.25
_SLICE_SECONDS = 0.008
"""The campaign may keep the event loop from others for so long."""
PATIENCE_SECONDS = 5.0
"""Real seconds that a jump ahead waits for the answers of subscribers."""


class Service(Block):
    """The sandbox service on a loopback port, while its block runs.

    Args:
        port: 0 takes a free one.
        seed: of the account and of everything that happens in it.
        speed: service seconds per real second; 0 is frozen.
        scenario: one of `sandbox.SCENARIOS`, or the path of a scenario file (`*.toml`).
        inboxes: how many the first workspace has; None is as many as the scenario says.
        timeout: real seconds that a subscriber has to answer a delivery.
        now: when the account is created, in seconds of the Unix epoch; the real now when None.

    Raises:
        ValueError: an option has a value that cannot be; the sentence names what would be right.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        seed: int = 7,
        speed: float = 1.0,
        scenario: str | Path = SCENARIOS[0],
        inboxes: int | None = None,
        timeout: float = TIMEOUT,
        now: float | None = None,
    ) -> None:
        source = scenarios.read(scenario)
        founding.plans_of(source, inboxes=inboxes)
        # Asked here, where the command line still has the option to name.
        if not 0.0 <= speed <= 1_000_000.0:
            raise ValueError(f"The speed must be a number from 0 (frozen) to 1000000, not {speed!r}.")
        self._port = port
        self._source = source
        self._seed = seed
        self._inboxes = inboxes
        self.scenario_label = scenarios.label(source)
        self.clock = Clock(time.time() if now is None else now, speed=speed)
        self.guard: Guard = Guard(routes.API.router("/v1"), caller=self._caller)
        self.deliveries = Deliveries(now=self.now, seed=seed, timeout=timeout)
        self.zones = AccountZones(now=self.now, speed=lambda: self.clock.speed)
        self.resolvers: Resolvers = Resolvers(self.zones, port=0)
        self._control = control_app()
        self._documentation = routes.documentation()
        self.origin = ""

    @property
    def base_url(self) -> str:
        """The document's `{base_url}`."""
        return f"{self.origin}/v1"

    @property
    def control_url(self) -> str:
        return f"{self.origin}/control"

    @property
    def dns_resolvers(self) -> list[str]:
        """The addresses of the resolvers of the account's domains, as `host:port`."""
        return self.resolvers.addresses

    @property
    def api_keys(self) -> dict[str, str]:
        """The key of each workspace, by its name."""
        names = (one.name for one in self.account.workspaces.values())
        return {name: founding.api_key(self._seed, name) for name in names}

    def now(self) -> float:
        return self.clock.now()

    async def open(self, exits: contextlib.AsyncExitStack) -> None:
        listener = bind(self._port)
        exits.callback(listener.close)
        # Playing the past takes a second, in which others in this process are served.
        self._first_day = await asyncio.to_thread(
            founding.found, self._source, seed=self._seed, now=self.now(), inboxes=self._inboxes
        )
        self._begin()
        await exits.enter_async_context(self.resolvers)
        self.origin = await exits.enter_async_context(serving(self, listener, name="sandbox-service"))
        await exits.enter_async_context(_running(self._live(), name="sandbox-campaign"))
        await exits.enter_async_context(_running(self.deliveries.run(), name="sandbox-deliveries"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the API, its document and the control API on one port."""
        first = str(scope.get("path", "")).split("/", 2)[1:2]
        if first == ["v1"]:
            await self.guard(scope, receive, send)
        elif first == ["control"]:
            scope["caller"] = self
            await self._control(scope, receive, send)
        else:
            await self._documentation(scope, receive, send)

    def reset(self, *, everything: bool) -> None:
        """Settings to their defaults and counts to zero; with `everything`, the account as on its first day."""
        # The clock first: what begins again is stamped with the moment of the start.
        if everything:
            self.clock.reset()
            self.deliveries.clear()
            self._begin()
        self.guard.reset()
        self.zones.reset()
        self.resolvers.reset()

    async def catch_up(self) -> None:
        """Let everything up to now happen, in slices that keep the event loop free."""
        until = self.now()
        while not self.campaign.run(until, seconds=_SLICE_SECONDS):  # noqa: ASYNC110 -- it runs here
            await asyncio.sleep(0)

    async def catch_up_and_deliver(self) -> int:
        """Let everything up to now happen, deliveries included.

        Returns how many of them are still under way after `PATIENCE_SECONDS`.
        """
        await self.catch_up()
        return await self.deliveries.settle(seconds=PATIENCE_SECONDS)

    def _begin(self) -> None:
        """Start from a copy of the first day."""
        account = self.account = copied(self._first_day)
        scenario = scenarios.load(self._source)
        self.campaign = Campaign(account, scenario, publish=self.deliveries.publish)
        numbers = {one.name: one.number for one in account.workspaces.values()}
        self._workspaces = {key: numbers[name] for name, key in self.api_keys.items()}
        names = [one.name for one in account.domains.values()]
        scheduled = [
            ZoneChange(
                domain=one.domain,
                change=one.change,
                start=account.founded_at + one.start,
                end=account.founded_at + one.end,
            )
            for one in scenario.dns
        ]
        self.zones.start(names, scheduled=scheduled)

    def _caller(self, key: str) -> Caller | None:
        workspace = self._workspaces.get(key)
        return None if workspace is None else Caller(self, self.account, workspace)

    async def _live(self) -> None:
        while True:
            await self.catch_up()
            self.deliveries.forget()
            await asyncio.sleep(_TICK_SECONDS)


@contextlib.asynccontextmanager
async def _running(work: Coroutine[Any, Any, None], *, name: str) -> AsyncIterator[None]:
    task = asyncio.create_task(work, name=name)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
