"""The outreach service as a whole: one port, one book, and two tasks that keep the account and its deliveries alive."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any, Self
from urllib.parse import urlsplit

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from sandbox.asgi_server import bind, serving
from sandbox.service.base.clock import Clock
from sandbox.service.base.storage import Storage
from sandbox.service.campaign import scenarios, simulation
from sandbox.service.campaign.simulation import Simulation
from sandbox.service.control import inspection
from sandbox.service.control.dials import Dials
from sandbox.service.control.routes import create_control
from sandbox.service.seed.account import Founding, found
from sandbox.service.v1.faults import Faults
from sandbox.service.v1.gate import Gate, Keys
from sandbox.service.v1.rate_limits import Limiter
from sandbox.service.v1.request_counts import Meter
from sandbox.service.v1.routes import Ledger, create_api
from sandbox.service.webhooks import delivery_queue
from sandbox.service.webhooks.allowed_urls import is_loopback
from sandbox.service.webhooks.sender import TIMEOUT, Courier

_TICK = 0.25


class Service:
    """The sandbox service on a loopback port, while its block runs.

    Args:
        port: 0 takes a free one.
        database: None, `sqlite:///PATH` or `postgresql://…`; a book that has an account is carried on.
        seed: of the account and of everything that happens in it.
        speed: service seconds per real second; 0 is frozen.
        scenario: one of `scenarios.NAMES`.
        timeout: real seconds that a subscriber has to answer a delivery.
        now: the real time at which the account is founded, for tests; the real now when None.

    Raises:
        ValueError: an option has a value that cannot be; the sentence names what would be right.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        database: str | None = None,
        seed: int = 7,
        speed: float = 1.0,
        scenario: str = "calm-week",
        timeout: float = TIMEOUT,
        now: float | None = None,
    ) -> None:
        scenarios.load(scenario)
        if not 0.0 <= speed <= 1_000_000.0:
            raise ValueError(f"The speed must be a number from 0 (frozen) to 1000000, not {speed!r}.")
        self._port = port
        self._founded = time.time() if now is None else now
        self._founding = Founding(seed=seed, scenario=scenario, speed=speed, now=self._founded)
        self._clock = Clock(real=time.time(), virtual=self._founded, speed=speed)
        self._storage = Storage(database)
        self._ledger = Ledger(self._storage, now=self.now)
        self._keys, self._faults, self._meter = Keys(), Faults(), Meter()
        self._limiter = Limiter(self._storage)
        self._courier = Courier(self._storage, now=self.now, timeout=timeout)
        self._simulation = Simulation(self._storage)
        self._exits = contextlib.AsyncExitStack()
        self.app: ASGIApp = self._compose(seed)
        self.origin = ""
        self.api_keys: dict[str, str] = {}

    @property
    def base_url(self) -> str:
        """The document's `{base_url}`."""
        return f"{self.origin}/v1"

    @property
    def control_url(self) -> str:
        return f"{self.origin}/control"

    def now(self) -> float:
        return self._clock.at(time.time())

    def _compose(self, seed: int) -> ASGIApp:
        api, swift = create_api(self._ledger)
        gate = Gate(
            swift,
            keys=self._keys,
            limiter=self._limiter,
            faults=self._faults,
            meter=self._meter,
        )
        dials = Dials(
            ledger=self._ledger,
            keys=self._keys,
            limiter=self._limiter,
            faults=self._faults,
            meter=self._meter,
            courier=self._courier,
            clock=self._read_clock,
            set_clock=self._set_clock,
            seed=seed,
        )
        return _Front(api=api, gate=gate, control=create_control(dials))

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
        await self._storage.write_slowly(lambda connection: found(connection, self._founding))
        await self._take_over()
        self.origin = await exits.enter_async_context(serving(self.app, listener, name="sandbox-service"))
        await exits.enter_async_context(_running(self._live(), name="sandbox-simulation"))
        await exits.enter_async_context(_running(self._courier.run(), name="sandbox-courier"))

    async def _take_over(self) -> None:
        """Carry an older book on: its clock goes on from where it stood, or from the real now if that is later."""
        names = await self._storage.read(inspection.key_names)
        self._keys.workspaces = await self._storage.read(simulation.live_keys)
        self.api_keys = {name: key for key, name in names.items() if key in self._keys.workspaces}
        clock = await self._storage.read(simulation.clock_of)
        if not self._storage.shared:
            await self._storage.write(delivery_queue.release)
            until = await self._storage.read(simulation.simulated_until)
            clock = Clock(real=time.time(), virtual=max(until, self._founded), speed=self._founding.speed)
            await self._storage.write(lambda connection: simulation.set_clock(connection, clock))
        self._clock = clock

    async def _read_clock(self) -> Clock:
        if self._storage.shared:
            self._clock = await self._storage.read(simulation.clock_of)
        return self._clock

    async def _set_clock(self, clock: Clock) -> None:
        """Set the clock, and wait until the account has caught up with it, whoever moves it on."""
        await self._storage.write(lambda connection: simulation.set_clock(connection, clock))
        self._clock = clock
        while not await self._simulation.advance(clock):  # noqa: ASYNC110 -- another process is at it
            await asyncio.sleep(_TICK / 10)
        self._courier.wake()

    async def _live(self) -> None:
        while True:
            if self._storage.shared:
                self._keys.workspaces = await self._storage.read(simulation.live_keys)
            await self._simulation.advance(await self._read_clock())
            self._courier.wake()
            await asyncio.sleep(_TICK)


_ELSEWHERE = Response("The control API answers this machine alone.\n", status_code=403)


def at_home(scope: Scope) -> bool:
    named = [value.decode("latin-1") for name, value in scope["headers"] if name in {b"host", b"origin"}]
    hosts = [urlsplit(value if "//" in value else f"//{value}").hostname for value in named]
    return all(is_loopback(host or "") for host in hosts)


class _Front:
    """One port for the API, its documentation and the control API."""

    def __init__(self, *, api: ASGIApp, gate: ASGIApp, control: ASGIApp) -> None:
        self._api = api
        self._gate = gate
        self._control = control

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path = scope["path"]
            if path.startswith("/v1/") or path == "/v1":
                await self._gate(scope, receive, send)
                return
            if path.startswith("/control"):
                await (self._control if at_home(scope) else _ELSEWHERE)(scope, receive, send)
                return
        await self._api(scope, receive, send)


@contextlib.asynccontextmanager
async def _running(work: Any, *, name: str) -> Any:
    """A task that ends with its block."""
    task = asyncio.create_task(work, name=name)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
