"""The control API's part about DNS: what zones hold, how resolvers fail, what was asked."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import Field

from sandbox.service.base.clock import stamp
from sandbox.service.base.errors import BadRequest
from sandbox.service.control.control import Body, Controlled
from sandbox.service.dns.faults import DnsFault
from sandbox.service.dns.resolvers import recent
from sandbox.service.dns.zones import Change

_SHOWN = 1_000


class ZoneEdit(Body):
    """Something that is different in a domain's zone from now on."""

    domain: str
    change: Change


class RecordSet(Body):
    """All records of a name and type."""

    name: str = Field(
        pattern=r"^[A-Za-z0-9_*-]{1,63}(\.[A-Za-z0-9_-]{1,63})+\.?$",
        max_length=253,
        examples=["_dmarc.useacme.example"],
    )
    type: Literal["A", "AAAA", "CNAME", "MX", "NS", "SOA", "TXT"]
    values: Annotated[list[Annotated[str, Field(max_length=60_000)]], Field(max_length=2_000)] | None = Field(
        description="TXT as plain text, everything else as in a zone file. An empty list: there are none; null: as the zone has it."
    )


def add_dns_routes(router: APIRouter) -> None:
    _add_zone_routes(router)
    _add_resolver_routes(router)


def _add_zone_routes(router: APIRouter) -> None:
    @router.get("/dns")
    async def read_dns(control: Controlled) -> dict[str, Any]:
        """Where the resolvers are, what is different in which zone, the faults, and how many queries there were."""
        return _shown(control)

    @router.post("/dns/changes", status_code=201)
    async def change_zone(control: Controlled, edit: ZoneEdit) -> dict[str, Any]:
        """Make something different in a domain's zone: break it, or make it hostile."""
        control.zones.change(edit.domain, edit.change)
        return _shown(control)

    @router.delete("/dns/changes")
    async def repair_zones(control: Controlled, domain: str | None = None) -> dict[str, Any]:
        """Put a domain's zone in order, or all of them: what the scenario broke and what was changed by hand."""
        control.zones.repair(domain)
        return _shown(control)

    @router.get("/dns/records")
    async def list_records(control: Controlled, domain: str) -> dict[str, Any]:
        """The records of a domain as they are now; bytes that are no UTF-8 are shown in hexadecimal."""
        found = control.zones.records(domain)
        return {
            "data": [
                {
                    "name": name,
                    "type": kind,
                    "ttl": control.zones.ttl,
                    "values": [value.decode("utf-8", "backslashreplace") for value in values],
                }
                for (name, kind), values in sorted(found.items())
            ]
        }

    @router.put("/dns/records")
    async def set_records(control: Controlled, records: RecordSet) -> RecordSet:
        """Replace the records of a name and type."""
        from sandbox.service.dns import answers

        for value in records.values or ():
            wrong = answers.wrong_value(records.type, value)
            if wrong is not None:
                raise BadRequest(f"{value[:80]!r} isn't a value of {records.type}: {wrong}", field="values")
        control.zones.set_records(records.name, records.type, records.values)
        return records


def _add_resolver_routes(router: APIRouter) -> None:
    @router.get("/dns/faults")
    async def list_dns_faults(control: Controlled) -> dict[str, Any]:
        """The faults of the resolvers that have not been used up."""
        return {"data": control.resolvers.faults.listed()}

    @router.post("/dns/faults", status_code=201)
    async def add_dns_fault(control: Controlled, fault: DnsFault) -> dict[str, Any]:
        """Let resolvers fail."""
        control.resolvers.faults.add(fault)
        return {"data": control.resolvers.faults.listed()}

    @router.delete("/dns/faults")
    async def clear_dns_faults(control: Controlled) -> dict[str, Any]:
        """Clear all faults of the resolvers."""
        control.resolvers.faults.clear()
        return {"data": []}

    @router.get("/dns/queries")
    async def list_queries(
        control: Controlled, limit: Annotated[int, Query(ge=1, le=10_000)] = 100
    ) -> dict[str, Any]:
        """The newest queries that the resolvers received."""
        found = recent(control.resolvers.queries, limit=limit)
        return {"data": [asdict(one) | {"at": stamp(one.at)} for one in found]}


def _shown(control: Controlled) -> dict[str, Any]:
    domains = control.zones.domains
    return {
        "resolvers": control.resolvers.addresses,
        "queries": control.resolvers.queried,
        "faults": control.resolvers.faults.listed(),
        "domains": [{"name": name, "changes": control.zones.changes(name)} for name in domains[:_SHOWN]],
    }
