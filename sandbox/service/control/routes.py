"""The control API: time, events, faults, rate limiter, format, deliveries. Outside of `/v1`."""

from __future__ import annotations

import asyncio
import re
import time
from functools import cache
from typing import Annotated, Any, Literal

from fastapi import APIRouter, FastAPI, Query
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import compile_path

from sandbox.service.base.clock import stamp
from sandbox.service.base.errors import ApiError, BadRequest, Json, NotFound, error_response, refuse
from sandbox.service.base.ids import decode
from sandbox.service.base.schema import domains, workspaces
from sandbox.service.campaign import simulation
from sandbox.service.campaign.triggered_events import EventRequest, trigger
from sandbox.service.control import inspection
from sandbox.service.control.control import Body, Control, Controlled
from sandbox.service.control.dns_routes import add_dns_routes
from sandbox.service.v1.dialect import Dialect
from sandbox.service.v1.docs_page import add_docs_page
from sandbox.service.v1.faults import Fault
from sandbox.service.v1.schemas import EventKind

_DESCRIPTION = """Settings for tests and demos. They are outside of `/v1` and ask for no key: the sandbox listens on
loopback alone. Settings other than time, events and keys apply to the process that receives the request, not to others on its database."""


# So many events are written in one transaction; between two of them the loop serves others.
_EVENTS_AT_ONCE = 100


class TimeChange(Body):
    """How the service's time goes on."""

    advance: float = Field(default=0.0, ge=0.0, le=400 * 86_400.0, description="Seconds to advance.")
    speed: float | None = Field(
        default=None, ge=0.0, le=1_000_000.0, description="Service seconds per real second."
    )


class EventBody(Body):
    """An event on demand."""

    workspace: str = "acme"
    kind: EventKind
    count: int = Field(default=1, ge=1, le=100_000)
    sequence: str | None = Field(default=None, description="The sequence's id.")
    lead: str | None = Field(
        default=None, description="The lead's id. The lead must be active and contacted."
    )
    domain: str | None = Field(default=None, description="The domain to pause.")
    reply: str | None = Field(default=None, max_length=1_000_000, description="The reply's text.")
    payload: dict[str, Any] = Field(default_factory=dict, description="Overrides members of the payload.")


class LimiterChange(Body):
    """The form of the rate limit."""

    form: Literal["fixed", "sliding", "bucket", "off"]


class KeyChange(Body):
    """A key to issue or to revoke."""

    workspace: str = "acme"
    revoke: str | None = Field(
        default=None, description="The key to revoke. Without it, a new one is issued."
    )


class Reset(Body):
    """How much is reset."""

    everything: bool = Field(
        default=False,
        description="Also reset the account and its clock to their creation, and delete subscriptions.",
    )


class _ControlJson(Json, JSONResponse):
    """`Json`, whose shape FastAPI documents only for its own kind of JSON response."""


class ErrorText(BaseModel):
    """What is wrong with a request."""

    code: str
    message: str
    field: str | None = None


class Refusal(BaseModel):
    """The body of an error."""

    error: ErrorText


class Invalid(BaseModel):
    """The body of an error about the request's form."""

    detail: list[dict[str, Any]]


_ERRORS: dict[int | str, dict[str, Any]] = {
    400: {
        "model": Refusal,
        "description": "The account has nothing of this name, or it isn't a valid value.",
    },
    404: {"model": Refusal, "description": "This doesn't exist."},
    422: {"model": Invalid, "description": "The request doesn't have the documented form."},
}


@cache
def create_control() -> FastAPI:
    """The control API as its own application, with its own `/control/docs`.

    Made when it is first asked for, which takes as long as the start of a service; all services of a process share it.
    Requests carry `scope["control"]`, that of their service.
    """
    app = FastAPI(
        title="Sandbox control",
        version="1",
        description=_DESCRIPTION,
        docs_url=None,
        openapi_url="/control/openapi.json",
        redoc_url=None,
        default_response_class=_ControlJson,
    )
    router = APIRouter(prefix="/control", responses=_ERRORS)
    _add_state_routes(router)
    _add_event_routes(router)
    _add_setting_routes(router)
    _add_delivery_routes(router)
    add_dns_routes(router)
    app.include_router(router)
    add_docs_page(app, "/control/docs", source=str(app.openapi_url))
    app.add_exception_handler(ApiError, refuse)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(405, _not_allowed)
    app.add_exception_handler(400, _unreadable)
    return app


@cache
def _methods() -> tuple[tuple[re.Pattern[str], str], ...]:
    """The methods of each path; the framework names those of the first route of a path alone."""
    paths = create_control().openapi()["paths"].items()
    return tuple((compile_path(path)[0], ", ".join(sorted(map(str.upper, found)))) for path, found in paths)


async def _unreadable(request: Request, error: Exception) -> Response:
    return error_response(400, code="bad_request", message="The body can't be read.", field="body")


async def _not_allowed(request: Request, error: Exception) -> Response:
    allowed = next((names for path, names in _methods() if path.match(request.url.path)), "GET")
    response = error_response(405, code="method_not_allowed", message=f"This path takes {allowed}.")
    response.headers["Allow"] = allowed
    return response


async def _invalid(request: Request, error: Exception) -> Response:
    """422 as FastAPI answers it, without what was sent: JSON has no word for NaN."""
    assert isinstance(error, RequestValidationError)
    shown = [{name: one[name] for name in ("type", "loc", "msg")} for one in error.errors()]
    return Json({"detail": shown}, status_code=422)


def _add_state_routes(router: APIRouter) -> None:
    @router.get("")
    async def index() -> dict[str, str]:
        """What there is."""
        names = "docs state time events dns faults limiter dialect keys subscriptions deliveries history summary reset"
        return {name: f"/control/{name}" for name in names.split()}

    @router.get("/state")
    async def state(control: Controlled) -> dict[str, Any]:
        """The account's size, the clock and the settings."""
        found = await control.state.storage.read(inspection.state)
        return found | {
            "time": await _time(control),
            "limiter": control.state.limiter.form,
            "dialect": control.state.dialect.model_dump(),
            "faults": control.state.faults.listed(),
        }

    @router.get("/summary")
    async def summary(control: Controlled) -> dict[str, Any]:
        """Requests, refusals, the busiest second of each workspace's key, deliveries by state and by kind."""
        names = await control.state.storage.read(inspection.key_names)
        deliveries = await control.state.storage.read(inspection.deliveries_by_state)
        return {**control.state.request_counts.summary(names), "deliveries": deliveries}

    @router.get("/time")
    async def read_time(control: Controlled) -> dict[str, Any]:
        """The service's time and its speed."""
        return await _time(control)

    @router.post("/time")
    async def change_time(control: Controlled, change: TimeChange) -> dict[str, Any]:
        """Jump ahead, or run at another speed (0 freezes); answers when everything up to then has happened.

        That includes deliveries and their retries; `deliveries_due` counts those whose subscribers take longer than 5
        seconds to answer.
        """
        real = time.time()
        clock = (await control.clock()).moved(change.advance, real=real)
        if change.speed is not None:
            clock = clock.paced(change.speed, real=real)
        due = await control.set_clock(clock)
        return {**await _time(control), "deliveries_due": due}


async def _time(control: Control) -> dict[str, Any]:
    clock = await control.clock()
    now = clock.at(time.time())
    return {"now": stamp(now), "epoch": now, "speed": clock.speed}


def _add_event_routes(router: APIRouter) -> None:
    @router.post("/events", status_code=201)
    async def trigger_events(control: Controlled, request: EventBody) -> dict[str, int]:
        """Let an event happen by the campaign's rules: status, counts and deliveries follow."""
        await control.clock()  # another process may have moved it on
        made = 0
        while made < request.count:
            go = await control.state.storage.write(_trigger, request=request, first=made, control=control)
            control.sender.wake()
            made += go
            if go < _EVENTS_AT_ONCE:
                break
            await asyncio.sleep(0)
        return {"events": made}

    @router.get("/history")
    async def history(
        control: Controlled, email: Annotated[str, Query(max_length=254)], workspace: str = "acme"
    ) -> dict[str, list[dict[str, Any]]]:
        """What ever happened to an address, also after its removal."""
        return {
            "data": await control.state.storage.read(
                inspection.history, email=email.lower(), workspace=workspace
            )
        }


def _trigger(connection: Connection, *, request: EventBody, first: int, control: Control) -> int:
    workspace = inspection.number_of(connection, workspaces, request.workspace, field="workspace")
    domain = (
        request.domain
        if request.domain is None
        else inspection.number_of(connection, domains, request.domain, field="domain")
    )
    return trigger(
        connection,
        EventRequest(
            kind=request.kind,
            count=min(_EVENTS_AT_ONCE, request.count - first),
            first=first,
            sequence=_number("sq", request.sequence),
            lead=_number("ld", request.lead),
            domain=domain,
            text=request.reply,
            overrides=request.payload,
        ),
        workspace=workspace,
        seed=control.seed,
        at=control.state.now(),
    )


def _number(prefix: str, text: str | None) -> int | None:
    if text is None:
        return None
    number = decode(prefix, text)
    if number is None:
        raise BadRequest(
            f"{text!r} isn't a valid identifier here.", field="lead" if prefix == "ld" else "sequence"
        )
    return number


def _add_setting_routes(router: APIRouter) -> None:
    @router.get("/faults")
    async def list_faults(control: Controlled) -> dict[str, Any]:
        """The faults that have not been used up."""
        return {"data": control.state.faults.listed()}

    @router.post("/faults", status_code=201)
    async def add_fault(control: Controlled, fault: Fault) -> dict[str, Any]:
        """Set a fault."""
        control.state.faults.add(fault)
        return {"data": control.state.faults.listed()}

    @router.delete("/faults")
    async def clear_faults(control: Controlled) -> dict[str, Any]:
        """Clear all faults."""
        control.state.faults.clear()
        return {"data": []}

    @router.put("/limiter")
    async def change_limiter(control: Controlled, change: LimiterChange) -> LimiterChange:
        """Another form of the limit, or none."""
        control.state.limiter.change(change.form)
        return change

    @router.put("/dialect")
    async def change_dialect(control: Controlled, dialect: Dialect) -> Dialect:
        """Speak differently; what is left out of the body goes back to the default."""
        control.state.dialect = dialect
        return dialect

    @router.post("/keys", status_code=201)
    async def change_keys(control: Controlled, change: KeyChange) -> dict[str, Any]:
        """Issue a key for a workspace, or revoke one."""
        made = await control.state.storage.write(
            inspection.change_key, workspace=change.workspace, revoke=change.revoke
        )
        control.state.keys = await control.state.storage.read(simulation.live_keys)
        return made

    @router.post("/reset")
    async def reset(control: Controlled, change: Reset | None = None) -> dict[str, str]:
        """Settings back to their defaults and counts to zero; with `everything`, the account as on its first day."""
        if change is not None and change.everything:
            await control.start_over()
        control.state.reset()
        control.zones.reset()
        control.resolvers.reset()
        return {"status": "reset"}


def _add_delivery_routes(router: APIRouter) -> None:
    @router.get("/subscriptions")
    async def list_subscriptions(control: Controlled, workspace: str | None = None) -> dict[str, Any]:
        """The subscriptions, without secrets."""
        return {"data": await control.state.storage.read(inspection.list_subscriptions, workspace=workspace)}

    @router.get("/deliveries")
    async def list_deliveries(
        control: Controlled,
        state: Literal["pending", "delivered", "failed"] | None = None,
        kind: EventKind | None = None,
        limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    ) -> dict[str, Any]:
        """The newest deliveries, with their bodies."""
        return {
            "data": await control.state.storage.read(
                inspection.list_deliveries, state=state, kind=kind, limit=limit
            )
        }

    @router.get("/deliveries/{id}/attempts")
    async def list_attempts(control: Controlled, id: str) -> dict[str, Any]:  # noqa: A002 -- reads as the others do
        """Every attempt of a delivery."""
        number = _delivery(id)
        return {"data": await control.state.storage.read(inspection.list_attempts, number)}

    @router.post("/deliveries/{id}/replay")
    async def replay(control: Controlled, id: str) -> dict[str, Any]:  # noqa: A002 -- reads as the others do
        """Send a delivery again, byte for byte, whatever became of it."""
        number, now = _delivery(id), control.state.now()
        if not await control.state.storage.write(inspection.replay, number, now=now):
            raise NotFound("This delivery doesn't exist.")
        control.sender.wake()
        return {"id": id, "state": "pending"}


def _delivery(text: str) -> int:
    number = decode("dl", text)
    if number is None:
        raise NotFound("This delivery doesn't exist.")
    return number
