"""Settings for tests and demos, outside of `/v1` and without a key: the sandbox answers them only on this machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from sandbox.asgi_server import LocalOnly
from sandbox.faults import Fault, Faults
from sandbox.service import ids
from sandbox.service.api.guard import ApiFault
from sandbox.service.api.schemas import EventKind, whole_number
from sandbox.service.campaign import EventRequest
from sandbox.service.deliveries import Delivery
from sandbox.service.dns.resolvers import DnsFault
from sandbox.service.dns.zones import Change
from sandbox.service.endpoints import Answer, Api
from sandbox.service.errors import BadRequest, Json
from sandbox.service.moments import stamp

if TYPE_CHECKING:
    from sandbox.service.service import Service

_SHOWN_DOMAINS = 1_000


class _Body(BaseModel):
    """A JSON body; members that don't exist are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True)


class TimeChange(_Body):
    """A change of the service's time."""

    advance: float = Field(default=0.0, ge=0.0, le=400 * 86_400.0)
    """Seconds to advance."""
    speed: float | None = Field(default=None, ge=0.0, le=1_000_000.0)
    """Service seconds per real second."""


class EventBody(_Body):
    """An event on demand."""

    workspace: str = "acme"
    kind: EventKind
    count: int = Field(default=1, ge=1, le=1_000)
    sequence: str | None = None
    """The sequence's id."""
    lead: str | None = None
    """The lead's id. The lead must be active and contacted."""
    domain: str | None = None
    """The domain to pause."""
    reply: str | None = Field(default=None, max_length=1_000_000)
    """The reply's text."""
    payload: dict[str, Any] = {}
    """Overrides members of the payload."""


class LimiterChange(_Body):
    """The rate limit: 10 requests in any second, or none."""

    form: Literal["sliding", "off"]


class Reset(_Body):
    """The extent of a reset."""

    everything: bool = False
    """Also reset the account and its clock to their creation, and delete subscriptions."""


class ZoneEdit(_Body):
    """Something that is different in a domain's zone from now on."""

    domain: str
    change: Change


class RecordSet(_Body):
    """All records of a name and type."""

    name: str = Field(
        pattern=r"^[A-Za-z0-9_*-]{1,63}(\.[A-Za-z0-9_-]{1,63})+\.?$",
        max_length=253,
        examples=["_dmarc.useacme.example"],
    )
    type: Literal["A", "AAAA", "CNAME", "MX", "NS", "SOA", "TXT"]
    values: Annotated[list[Annotated[str, Field(max_length=60_000)]], Field(max_length=2_000)] | None = Field(
        description="TXT as plain text, everything else as in a zone file. An empty list: there are none; null: as the "
        "zone has it."
    )


_ERRORS = {
    400: "The request doesn't have the documented form, or the account has nothing of this name.",
    404: "This doesn't exist.",
}
API = Api(
    title="Sandbox control",
    description=__doc__ or "",
    errors=_ERRORS,
)


@API.add("GET", "/control/state")
async def read_state(service: Service) -> Answer:
    """The account's size, the clock and the settings."""
    account = service.account
    domains = [{"name": one.name, "state": one.state} for one in account.domains.values()]
    return {
        "scenario": service.scenario_label,
        "seed": account.seed,
        "founded_at": stamp(account.founded_at),
        "simulated_until": stamp(account.now),
        "workspaces": [one.name for one in account.workspaces.values()],
        "domains": domains[:_SHOWN_DOMAINS],
        "counts": {
            "leads": sum(lead is not None for lead in account.leads),
            "subscriptions": len(service.deliveries.subscriptions),
        },
        "time": _time(service),
    }


@API.add("GET", "/control/summary")
async def read_summary(service: Service) -> Answer:
    """Requests, refusals, the busiest second of each workspace's key, deliveries by state and by kind."""
    found = list(service.deliveries.all.values())
    states = Counter(pending=0, delivered=0, failed=0)
    states.update(one.state for one in found)
    kinds = Counter(one.kind for one in found)
    deliveries = {
        "by_state": dict(states),
        "by_kind": dict(sorted(kinds.items())),
        "attempts": sum(one.attempts for one in found),
    }
    return {**service.guard.summary(), "deliveries": deliveries}


@API.add("POST", "/control/time")
async def change_time(service: Service, body: TimeChange) -> Answer:
    """Jump ahead, or run at another speed (0 freezes); answers when everything up to then has happened.

    That includes deliveries and their retries; `deliveries_due` counts those whose subscribers take longer than 5
    seconds to answer.
    """
    # At the speed until now: a new speed counts from the moment after the jump.
    service.clock.advance(body.advance)
    if body.speed is not None:
        service.clock.speed = body.speed
    due = await service.catch_up_and_deliver()
    return {**_time(service), "deliveries_due": due}


def _time(service: Service) -> Answer:
    now = service.now()
    return {"now": stamp(now), "epoch": now, "speed": service.clock.speed}


@API.add("POST", "/control/events", status=201)
async def trigger_events(service: Service, body: EventBody) -> Answer:
    """Let an event happen by the campaign's rules: status, counts and deliveries follow."""
    # First everything that is due, or the event would happen before what led to it.
    await service.catch_up()
    domain = None if body.domain is None else service.account.domain_named(body.domain).number
    said = {} if body.reply is None else {"reply": body.reply}
    request = EventRequest(
        kind=body.kind,
        workspace=service.account.workspace_named(body.workspace).number,
        count=body.count,
        sequence=_number("sq", body.sequence, field="sequence"),
        lead=_number("ld", body.lead, field="lead"),
        domain=domain,
        payload=said | body.payload,
    )
    return {"events": service.campaign.trigger(request)}


def _number(prefix: str, text: str | None, *, field: str) -> int | None:
    number = None if text is None else ids.decode(prefix, text)
    if text is not None and number is None:
        raise BadRequest(f"{text!r} isn't a valid identifier here.", field=field)
    return number


@API.add("PUT", "/control/limiter")
async def change_limiter(service: Service, body: LimiterChange) -> Answer:
    """Switch the rate limit off, or on again."""
    service.guard.limited = body.form == "sliding"
    return {"form": body.form}


@API.add("POST", "/control/reset")
async def reset(service: Service, body: Reset = Reset()) -> Answer:  # noqa: B008 -- frozen by its use
    """Settings back to their defaults and counts to zero; with `everything`, the account as on its first day."""
    service.reset(everything=body.everything)
    return {"status": "reset"}


@API.add("GET", "/control/deliveries")
async def list_deliveries(
    service: Service,
    state: Literal["pending", "delivered", "failed"] | None = None,
    kind: EventKind | None = None,
    limit: Annotated[int, Field(ge=1, le=10_000), BeforeValidator(whole_number)] = 100,
) -> Answer:
    """The newest deliveries, with their bodies; `first_sent` is by the real clock, in Unix seconds."""
    found = list[Answer]()
    for one in reversed(service.deliveries.all.values()):
        if state in {None, one.state} and kind in {None, one.kind}:
            found.append(_delivery(one))
        if len(found) == limit:
            break
    return {"data": found}


def _delivery(one: Delivery) -> Answer:
    return {
        "id": ids.encode("dl", one.number),
        "subscription": ids.encode("wh", one.subscription),
        "event": one.kind,
        "state": one.state,
        "attempts": one.attempts,
        "last_answer": one.last_answer,
        "next_at": stamp(one.next_at) if one.state == "pending" else None,
        "first_sent": one.first_sent,
        "body": one.body.decode(),
    }


@API.add("GET", "/control/dns")
async def read_dns(service: Service) -> Answer:
    """Return the resolvers' addresses, the changes of each zone, the faults, and the number of queries."""
    domains = service.zones.domains[:_SHOWN_DOMAINS]
    return {
        "resolvers": service.resolvers.addresses,
        "queries": service.resolvers.queried,
        "faults": service.resolvers.faults.listed(),
        "domains": [{"name": name, "changes": service.zones.changes(name)} for name in domains],
    }


@API.add("POST", "/control/dns/changes", status=201)
async def change_zone(service: Service, body: ZoneEdit) -> Answer:
    """Break something in a domain's zone."""
    service.zones.change(body.domain, body.change)
    return await read_dns(service)


@API.add("DELETE", "/control/dns/changes")
async def repair_zones(service: Service, domain: str | None = None) -> Answer:
    """Put a domain's zone in order, or all of them: what the scenario broke and what was changed by hand."""
    service.zones.repair(domain)
    return await read_dns(service)


@API.add("PUT", "/control/dns/records")
async def set_records(service: Service, body: RecordSet) -> Answer:
    """Replace the records of a name and type."""
    from sandbox.service.dns import answers

    for value in body.values or ():
        wrong = answers.wrong_value(body.type, value)
        if wrong is not None:
            raise BadRequest(f"{value[:80]!r} isn't a value of {body.type}: {wrong}", field="values")
    service.zones.set_records(body.name, body.type, body.values)
    return body.model_dump()


def _declare_faults(
    path: str, name: str, model: type[Fault], faults: Callable[[Service], Faults[Any]]
) -> None:
    """Declare how faults are listed, set and cleared."""

    @API.add("GET", path, name=f"list_{name}")
    async def list_faults(service: Service) -> Answer:
        """The faults that have not been used up."""
        return {"data": faults(service).listed()}

    # Annotations are texts here, and this model is known only now.
    async def add_fault(service: Service, body: Fault) -> Answer:
        """Set a fault."""
        faults(service).add(body)
        return {"data": faults(service).listed()}

    add_fault.__annotations__["body"] = model
    API.add("POST", path, name=f"add_{name}", status=201)(add_fault)

    @API.add("DELETE", path, name=f"clear_{name}")
    async def clear_faults(service: Service) -> Answer:
        """Clear all faults."""
        faults(service).clear()
        return {"data": []}


_declare_faults("/control/faults", "faults", ApiFault, lambda service: service.guard.faults)
_declare_faults("/control/dns/faults", "dns_faults", DnsFault, lambda service: service.resolvers.faults)


async def _describe(_: Request) -> Response:
    return Json(API.document())


def control_app() -> ASGIApp:
    """The control API, for this machine alone; requests carry the service as their caller."""
    documents = [Route(path, _describe) for path in ("/control", "/control/openapi.json")]
    return LocalOnly(API.router("", *documents))
