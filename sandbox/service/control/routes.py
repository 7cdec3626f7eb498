"""The control API: time, events on demand, faults, the limiter's form, the dialect, deliveries. Outside of `/v1`."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, FastAPI, Query
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from sandbox.service.base.clock import stamp
from sandbox.service.base.errors import BadRequest, NotFound, Refusal, response_of
from sandbox.service.base.ids import decode
from sandbox.service.campaign import simulation
from sandbox.service.campaign.triggered_events import Wish, grant
from sandbox.service.control import inspection
from sandbox.service.control.dials import Dials, EventWish, KeyChange, LimiterChange, TimeChange
from sandbox.service.v1.dialect import Dialect
from sandbox.service.v1.docs_page import add_manual
from sandbox.service.v1.faults import Fault
from sandbox.service.v1.schemas import EventKind

_DESCRIPTION = """Dials for tests and rehearsals. They stand outside of `/v1` and ask for no key: the sandbox listens on
loopback alone. Dials other than time, events and keys hold for the process that is asked, not for others on its database."""


# So many events are written in one go; between two of them the loop serves others.
_AT_ONCE = 100


def create_control(dials: Dials) -> FastAPI:
    """The control API as an application of its own, with its own `/control/docs`."""
    app = FastAPI(
        title="Sandbox control",
        version="1",
        description=_DESCRIPTION,
        docs_url=None,
        openapi_url="/control/openapi.json",
        redoc_url=None,
    )
    router = APIRouter(prefix="/control")
    _add_state_routes(router, dials)
    _add_event_routes(router, dials)
    _add_dial_routes(router, dials)
    _add_delivery_routes(router, dials)
    app.include_router(router)
    add_manual(app, "/control/docs")
    app.add_exception_handler(Refusal, _refused)
    return app


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return response_of(error)


def _add_state_routes(router: APIRouter, dials: Dials) -> None:
    @router.get("")
    async def index() -> dict[str, str]:
        """What there is."""
        return {
            "docs": "/control/docs",
            "state": "/control/state",
            "time": "/control/time",
            "events": "/control/events",
            "faults": "/control/faults",
            "limiter": "/control/limiter",
            "dialect": "/control/dialect",
            "keys": "/control/keys",
            "subscriptions": "/control/subscriptions",
            "deliveries": "/control/deliveries",
            "history": "/control/history",
            "summary": "/control/summary",
            "reset": "/control/reset",
        }

    @router.get("/state")
    async def state() -> dict[str, Any]:
        """The account's size, the clock and the dials."""
        found = await dials.ledger.storage.read(inspection.state)
        return found | {
            "time": await _time(dials),
            "limiter": dials.limiter.form,
            "dialect": dials.ledger.dialect.model_dump(),
            "faults": dials.faults.listed(),
        }

    @router.get("/summary")
    async def summary() -> dict[str, Any]:
        """Requests, refusals, the busiest second of each workspace's key, deliveries by state and by kind."""
        meter = dials.meter.summary()
        names = await dials.ledger.storage.read(inspection.key_names)
        meter["worst_second"] = inspection.by_name(meter["worst_second"], names)
        return meter | {"deliveries": await dials.ledger.storage.read(inspection.deliveries_by_state)}

    @router.get("/time")
    async def read_time() -> dict[str, Any]:
        """The service's time and its speed."""
        return await _time(dials)

    @router.post("/time")
    async def change_time(change: TimeChange) -> dict[str, Any]:
        """Jump ahead, or run at another speed (0 freezes); answers when the account has caught up."""
        real = time.time()
        clock = (await dials.clock()).moved(change.advance, real=real)
        if change.speed is not None:
            clock = clock.paced(change.speed, real=real)
        await dials.set_clock(clock)
        return await _time(dials)


async def _time(dials: Dials) -> dict[str, Any]:
    clock = await dials.clock()
    now = clock.at(time.time())
    return {"now": stamp(now), "epoch": now, "speed": clock.speed}


def _add_event_routes(router: APIRouter, dials: Dials) -> None:
    storage = dials.ledger.storage

    @router.post("/events", status_code=201)
    async def make_happen(wish: EventWish) -> dict[str, int]:
        """Let an event happen by the campaign's rules: status, counts and deliveries follow."""
        await dials.clock()  # another process may have moved it on
        made = 0
        while made < wish.count:
            go = await storage.write(partial(_grant, wish=wish, first=made, dials=dials))
            dials.courier.wake()
            made += go
            if go < _AT_ONCE:
                break
            await asyncio.sleep(0)
        return {"events": made}

    @router.get("/history")
    async def history(
        email: Annotated[str, Query(max_length=254)], workspace: str = "acme"
    ) -> dict[str, list[dict[str, Any]]]:
        """What ever happened to an address, also after its removal."""
        return {
            "data": await storage.read(
                lambda it: inspection.history(it, email=email.lower(), workspace=workspace)
            )
        }


def _grant(connection: Connection, *, wish: EventWish, first: int, dials: Dials) -> int:
    return grant(
        connection,
        Wish(
            kind=wish.kind,
            count=min(_AT_ONCE, wish.count - first),
            first=first,
            sequence=_number("sq", wish.sequence),
            lead=_number("ld", wish.lead),
            domain=inspection.domain_number(connection, wish.domain),
            text=wish.reply,
            overrides=wish.payload,
        ),
        workspace=inspection.workspace_number(connection, wish.workspace),
        seed=dials.seed,
        at=dials.ledger.now(),
    )


def _number(prefix: str, text: str | None) -> int | None:
    if text is None:
        return None
    number = decode(prefix, text)
    if number is None:
        raise BadRequest(
            f"{text!r} is no identifier of that kind.", field="lead" if prefix == "ld" else "sequence"
        )
    return number


def _add_dial_routes(router: APIRouter, dials: Dials) -> None:
    @router.get("/faults")
    async def list_faults() -> dict[str, Any]:
        """The faults that have not been used up."""
        return {"data": dials.faults.listed()}

    @router.post("/faults", status_code=201)
    async def add_fault(fault: Fault) -> dict[str, Any]:
        """Set a fault."""
        dials.faults.add(fault)
        return {"data": dials.faults.listed()}

    @router.delete("/faults")
    async def clear_faults() -> dict[str, Any]:
        """All is well again."""
        dials.faults.clear()
        return {"data": []}

    @router.put("/limiter")
    async def change_limiter(change: LimiterChange) -> LimiterChange:
        """Another form of the limit, or none."""
        dials.limiter.change(change.form)
        return change

    @router.put("/dialect")
    async def change_dialect(dialect: Dialect) -> Dialect:
        """Speak differently; what is left out of the body goes back to the default."""
        dials.ledger.dialect = dialect
        return dialect

    @router.post("/keys", status_code=201)
    async def change_keys(change: KeyChange) -> dict[str, Any]:
        """Issue a key for a workspace, or revoke one."""
        made = await dials.ledger.storage.write(
            lambda it: inspection.change_key(it, workspace=change.workspace, revoke=change.revoke)
        )
        dials.keys.workspaces = await dials.ledger.storage.read(simulation.live_keys)
        return made

    @router.post("/reset")
    async def reset() -> dict[str, str]:
        """Dials back to their defaults and counts to zero; the account stays."""
        dials.faults.clear()
        dials.meter.reset()
        dials.limiter.change("sliding")
        dials.ledger.dialect = Dialect()
        return {"status": "reset"}


def _add_delivery_routes(router: APIRouter, dials: Dials) -> None:
    storage = dials.ledger.storage

    @router.get("/subscriptions")
    async def list_subscriptions(workspace: str | None = None) -> dict[str, Any]:
        """Who has subscribed to what; secrets stay secret."""
        return {"data": await storage.read(lambda it: inspection.list_subscriptions(it, workspace=workspace))}

    @router.get("/deliveries")
    async def list_deliveries(
        state: Literal["pending", "delivered", "failed"] | None = None,
        kind: EventKind | None = None,
        limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    ) -> dict[str, Any]:
        """The newest deliveries, with their bodies."""
        return {
            "data": await storage.read(
                lambda it: inspection.list_deliveries(it, state=state, kind=kind, limit=limit)
            )
        }

    @router.get("/deliveries/{id}/attempts")
    async def list_attempts(id: str) -> dict[str, Any]:  # noqa: A002 -- reads as the others do
        """Every attempt of a delivery."""
        number = _delivery(id)
        return {"data": await storage.read(lambda it: inspection.list_attempts(it, number))}

    @router.post("/deliveries/{id}/replay")
    async def replay(id: str) -> dict[str, Any]:  # noqa: A002 -- reads as the others do
        """Send a delivery again, byte for byte, whatever became of it."""
        number, now = _delivery(id), dials.ledger.now()
        if not await storage.write(lambda it: inspection.replay(it, number, now=now)):
            raise NotFound("There is no such delivery.")
        dials.courier.wake()
        return {"id": id, "state": "pending"}


def _delivery(text: str) -> int:
    number = decode("dl", text)
    if number is None:
        raise NotFound("There is no such delivery.")
    return number
