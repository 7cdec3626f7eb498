"""The outreach service as a whole: one port, one store, and two tasks for the campaign and the deliveries."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from sandbox import SCENARIOS
from sandbox.asgi_server import bind, serving
from sandbox.service.base.clock import Clock
from sandbox.service.base.storage import Storage
from sandbox.service.campaign import scenarios, scheduled_dns, simulation
from sandbox.service.campaign.simulation import Simulation
from sandbox.service.control import inspection
from sandbox.service.control.control import Control
from sandbox.service.control.routes import create_control
from sandbox.service.dns.account_zones import AccountZones
from sandbox.service.dns.resolvers import Resolvers
from sandbox.service.seed.account import SeedOptions, seed_account, seed_again
from sandbox.service.v1.fast_reads import FastReads
from sandbox.service.v1.request_guard import RequestGuard
from sandbox.service.v1.routes import create_api
from sandbox.service.v1.running_totals import Totals
from sandbox.service.v1.state import ApiState
from sandbox.service.webhooks import delivery_queue
from sandbox.service.webhooks.allowed_urls import is_loopback
from sandbox.service.webhooks.sender import TIMEOUT, DeliverySender

_TICK = 0.25
_BEAT = 1.0
"""Real seconds between two notes of where the clock stands."""
_PATIENCE = 5.0
"""Real seconds that a jump ahead waits for the answers of subscribers."""


class Service:
    """The sandbox service on a loopback port, while its block runs.

    Args:
        port: 0 takes a free one.
        dns_port: of the first of the two resolvers, the second is the next; 0 takes free ones.
        database: None, `sqlite:///PATH` or `postgresql://…`; a store that has an account is carried on.
        seed: of the account and of everything that happens in it.
        speed: service seconds per real second; 0 is frozen.
        scenario: one of `sandbox.SCENARIOS`, or the path of a scenario file (`*.toml`).
        timeout: real seconds that a subscriber has to answer a delivery.
        now: when the account is created, in seconds of the Unix epoch; the real now when None.

    Raises:
        ValueError: an option has a value that cannot be; the sentence names what would be right.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        dns_port: int = 0,
        database: str | None = None,
        seed: int = 7,
        speed: float = 1.0,
        scenario: str | Path = SCENARIOS[0],
        timeout: float = TIMEOUT,
        now: float | None = None,
    ) -> None:
        source = scenarios.read(scenario)
        if not 0.0 <= speed <= 1_000_000.0:
            raise ValueError(f"The speed must be a number from 0 (frozen) to 1000000, not {speed!r}.")
        self._port = port
        self._created_at = time.time() if now is None else now
        self._options = SeedOptions(seed=seed, scenario=source, speed=speed, now=self._created_at)
        self._clock = Clock(real=time.time(), virtual=self._created_at, speed=speed)
        self._storage = Storage(database)
        self.state = ApiState(self._storage, now=self.now)
        self._sender = DeliverySender(self._storage, now=self.now, timeout=timeout)
        self._simulation = Simulation(self._storage)
        self._exits = contextlib.AsyncExitStack()
        self._zones = AccountZones(now=self.now, speed=lambda: self._clock.speed)
        self._resolvers = Resolvers(self._zones, port=dns_port)
        control = Control(
            state=self.state,
            zones=self._zones,
            resolvers=self._resolvers,
            sender=self._sender,
            clock=self._read_clock,
            set_clock=self._set_clock,
            start_over=self._start_over,
            seed=seed,
        )
        api, endpoints = create_api()
        fast_reads = FastReads(api, endpoints=endpoints, version=self.state.version)
        guard = RequestGuard(fast_reads, self.state)
        self.app: ASGIApp = _Router(api=api, guard=guard, control=control)
        self._first_day: sqlite3.Connection | None = None
        self.origin = ""
        self.api_keys: dict[str, str] = {}

    @property
    def base_url(self) -> str:
        """The document's `{base_url}`."""
        return f"{self.origin}/v1"

    @property
    def control_url(self) -> str:
        return f"{self.origin}/control"

    @property
    def dns_resolvers(self) -> list[str]:
        """Where the DNS of the account's domains is answered, as `host:port`."""
        return self._resolvers.addresses

    def now(self) -> float:
        return self._clock.at(time.time())

    async def __aenter__(self) -> Self:
        async with contextlib.AsyncExitStack() as exits:
            await self._open(exits)
            self._exits = exits.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._exits.aclose()

    async def _open(self, exits: contextlib.AsyncExitStack) -> None:
        listener = bind(self._port)
        exits.callback(listener.close)
        exits.push_async_callback(self._storage.close)
        await self._storage.open()
        created = await self._storage.write_in_thread(seed_account, self._options)
        if created and scenarios.load(self._options.scenario).account != "huge":
            self._first_day = await self._storage.copy()
        await self._restore()
        await exits.enter_async_context(self._resolvers)
        exits.push_async_callback(self._keep_clock, speed=0.0)
        self.origin = await exits.enter_async_context(serving(self.app, listener, name="sandbox-service"))
        await exits.enter_async_context(_running(self._run_simulation(), name="sandbox-simulation"))
        await exits.enter_async_context(_running(self._sender.run(), name="sandbox-sender"))

    async def _restore(self) -> None:
        """Carry an older store on: its clock goes on from where it stood, or from the real now if that is later.

        A process that was killed wrote down last where its clock stood up to `_BEAT` before: that much is added.
        """
        names = await self._storage.read(inspection.key_names)
        self.state.keys = await self._storage.read(simulation.live_keys)
        self.api_keys = {name: key for key, name in names.items() if key in self.state.keys}
        clock = await self._storage.read(simulation.clock_of)
        if not self._storage.shared:
            await self._storage.write(delivery_queue.release)
            until = await self._storage.read(simulation.simulated_until)
            stood = clock.at(min(time.time(), clock.real + 2 * _BEAT))
            virtual = max(until, stood, self._created_at)
            clock = Clock(real=time.time(), virtual=virtual, speed=self._options.speed)
            await self._storage.write(simulation.set_clock, clock)
        self._clock = clock
        await self._start_zones()

    async def _start_zones(self) -> None:
        await self._storage.read(scheduled_dns.start_zones, self._zones)

    async def _read_clock(self) -> Clock:
        if self._storage.shared:
            self._clock = await self._storage.read(simulation.clock_of)
        return self._clock

    async def _set_clock(self, clock: Clock) -> int:
        """Set the clock, and wait until everything up to then has happened, whoever moves the account on.

        Returns how many deliveries are still under way after `_PATIENCE`.
        """
        await self._storage.write(simulation.set_clock, clock)
        self._clock = clock
        while not await self._simulation.advance(clock, exactly=True):  # noqa: ASYNC110 -- another process is at it
            await asyncio.sleep(_TICK / 10)
        return await self._sender.settle(now=self.now(), seconds=_PATIENCE)

    async def _keep_clock(self, *, speed: float) -> None:
        """Write down where the clock stands; the processes on one PostgreSQL share theirs."""
        if not self._storage.shared:
            now = time.time()
            stands = Clock(real=now, virtual=self._clock.at(now), speed=speed)
            await self._storage.write(simulation.set_clock, stands)

    async def _start_over(self) -> None:
        """The account as it was when it was created, clock included; subscriptions and deliveries are gone."""
        if self._first_day is not None:
            await self._storage.restore(self._first_day)
        else:
            speed = self._options.speed
            await self._storage.write(seed_again, speed=speed)
        await self._sender.stop_workers()  # whatever they were sending is dropped
        created = await self._storage.read(simulation.simulated_until)
        self._clock = Clock(real=time.time(), virtual=created, speed=self._options.speed)
        await self._storage.write(simulation.set_clock, self._clock)
        self._simulation.start_over()
        self.state.totals = Totals()
        self.state.keys = await self._storage.read(simulation.live_keys)
        await self._start_zones()

    async def _run_simulation(self) -> None:
        kept = time.monotonic()
        while True:
            if self._clock.speed and time.monotonic() >= kept + _BEAT:
                kept = time.monotonic()
                await self._keep_clock(speed=self._clock.speed)
            if self._storage.shared:
                self.state.keys = await self._storage.read(simulation.live_keys)
            await self._simulation.advance(await self._read_clock())
            self._sender.wake()
            await asyncio.sleep(_TICK)


_FORBIDDEN = Response("The control API answers only this machine.\n", status_code=403)


def is_local(scope: Scope) -> bool:
    named = [value.decode("latin-1") for name, value in scope["headers"] if name in {b"host", b"origin"}]
    hosts = [urlsplit(value if "//" in value else f"//{value}").hostname for value in named]
    return all(is_loopback(host or "") for host in hosts)


class _Router:
    """One port for the API, its documentation and the control API."""

    def __init__(self, *, api: ASGIApp, guard: ASGIApp, control: Control) -> None:
        self._api = api
        self._guard = guard
        self._control = control

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path = scope["path"]
            if path.startswith("/v1/") or path == "/v1":
                await self._guard(scope, receive, send)
                return
            if path.startswith("/control"):
                if not is_local(scope):
                    await _FORBIDDEN(scope, receive, send)
                    return
                scope["control"] = self._control
                await create_control()(scope, receive, send)
                return
        await self._api(scope, receive, send)


@contextlib.asynccontextmanager
async def _running(work: Any, *, name: str) -> Any:
    task = asyncio.create_task(work, name=name)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
