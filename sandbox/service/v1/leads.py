"""Leads: keyset pages of constant cost, adding in bulk, removing with the history kept."""

from __future__ import annotations

import json
from functools import lru_cache
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

from sqlalchemy import Connection, Select, bindparam, delete, insert, select

from sandbox.service.base import ids
from sandbox.service.base.clock import stamp
from sandbox.service.base.errors import BadRequest, NotFound
from sandbox.service.base.schema import blocklist, leads, sequences, workspaces
from sandbox.service.v1.fast_reads import Statement
from sandbox.service.v1.schemas import NewLead

_NEWEST = 1 << 53
_IDS_IN_A_QUERY = 500
_SHOWN = (
    leads.c.pk,
    leads.c.email,
    leads.c.status,
    leads.c.first_name,
    leads.c.last_name,
    leads.c.company,
    leads.c.sequence_pk,
    leads.c.step,
    leads.c.custom,
    leads.c.created_at,
)


def _page(*, by_sequence: bool, by_status: bool) -> Select[Any]:
    """One statement for each pair of filters, so that each walks its own index."""
    where = [leads.c.workspace_pk == bindparam("workspace"), leads.c.pk < bindparam("before")]
    if by_sequence:
        where[0] = leads.c.sequence_pk == bindparam("sequence")
    if by_status:
        where.append(leads.c.status == bindparam("status"))
    return select(*_SHOWN).where(*where).order_by(leads.c.pk.desc()).limit(bindparam("room"))


_PAGES = {
    (by_sequence, by_status): Statement(_page(by_sequence=by_sequence, by_status=by_status))
    for by_sequence in (False, True)
    for by_status in (False, True)
}


def list_leads(
    connection: Connection,
    *,
    workspace: int,
    sequence_id: str | None,
    status: str | None,
    limit: int,
    cursor: str | None,
) -> tuple[list[str], str | None]:
    """A page of leads as JSON texts, newest first, and where the next page begins (document: GET /leads).

    Raises `NotFound`: the sequence is not in this workspace.
    """
    where: dict[str, Any] = {"before": _before(cursor), "room": limit + 1}
    if sequence_id is None:
        where["workspace"] = workspace
    else:
        where["sequence"] = sequence_number(connection, sequence_id, workspace=workspace)
    if status is not None:
        where["status"] = status
    rows = _PAGES[sequence_id is not None, status is not None].rows(connection, **where)
    following = ids.encode("cu", rows[limit - 1][0]) if len(rows) > limit else None
    return [_shown(tuple(row)) for row in rows[:limit]], following


def _before(cursor: str | None) -> int:
    number = None if cursor is None else ids.decode("cu", cursor)
    return _NEWEST if number is None else number


def sequence_number(connection: Connection, sequence_id: str, *, workspace: int) -> int:
    """The row of a sequence of this workspace. Raises `NotFound`: there is none, or it is another workspace's."""
    number = ids.decode("sq", sequence_id)
    if number is not None and connection.execute(_MINE, {"pk": number, "workspace": workspace}).first():
        return number
    raise NotFound("This sequence doesn't exist in this workspace.")


_MINE = select(sequences.c.pk).where(
    sequences.c.pk == bindparam("pk"), sequences.c.workspace_pk == bindparam("workspace")
)


@lru_cache(maxsize=8_192)
def _shown(row: tuple[Any, ...]) -> str:
    number, email, status, first_name, last_name, company, sequence, step, custom, created_at = row
    return (
        f'{{"id":"{ids.encode("ld", number)}","email":{quoted(email)},"status":"{status}",'
        f'"first_name":{_text(first_name)},"last_name":{_text(last_name)},"company":{_text(company)},'
        f'"sequence_id":"{ids.encode_known("sq", sequence)}","step":{step},'
        f'"custom_fields":{custom or "{}"},"created_at":"{stamp(created_at)}"}}'
    )


def _text(value: str | None) -> str:
    return "null" if value is None else quoted(value)


def add_leads(
    connection: Connection, *, workspace: int, sequence_id: str, new: list[NewLead], now: float
) -> dict[str, Any]:
    """Add leads; duplicates and blocklisted addresses are skipped and reported (document: POST /leads).

    Raises `NotFound`: the sequence is not in this workspace.
    """
    sequence = sequence_number(connection, sequence_id, workspace=workspace)
    # One writer at a time in a workspace, so that numbers become visible in order and no page misses a lead.
    connection.execute(select(workspaces.c.pk).where(workspaces.c.pk == workspace).with_for_update())
    emails = [lead.email.lower() for lead in new]
    present = _found(connection, leads.c.email, set(emails), leads.c.sequence_pk == sequence)
    reasons = dict.fromkeys(present, "duplicate")
    reasons |= dict.fromkeys(_blocked(connection, workspace=workspace, emails=emails), "blocklisted")
    common = {"workspace_pk": workspace, "sequence_pk": sequence, "created_at": now, "due_at": now}
    rows, skipped = [], []
    for place, (lead, email) in enumerate(zip(new, emails, strict=True)):
        if email in reasons:
            skipped.append({"email": lead.email, "reason": reasons[email]})
        else:
            reasons[email] = "duplicate"
            rows.append(common | {"email": email} | _own_fields(lead, place=place))
    if rows:
        connection.execute(insert(leads), rows)
    return {"added": len(rows), "skipped": skipped}


def _own_fields(lead: NewLead, *, place: int) -> dict[str, Any]:
    try:
        custom = json.dumps(lead.model_extra, allow_nan=False) if lead.model_extra else None
    except ValueError:
        raise BadRequest(
            "A custom field has a number that JSON can't represent.", field=f"leads[{place}]"
        ) from None
    return {
        "first_name": lead.first_name,
        "last_name": lead.last_name,
        "company": lead.company,
        "custom": custom,
        "status": "active",
        "step": 0,
        "inbox_pk": None,
    }


def _blocked(connection: Connection, *, workspace: int, emails: list[str]) -> set[str]:
    """Those of the addresses that are on the blocklist themselves or by their domain."""
    domains = {email: email.partition("@")[2] for email in emails}
    found = _found(
        connection, blocklist.c.entry, {*domains, *domains.values()}, blocklist.c.workspace_pk == workspace
    )
    return {email for email, domain in domains.items() if {email, domain} & found}


def _found(connection: Connection, column: Any, wanted: set[str], where: Any) -> set[str]:
    found, values = set[str](), sorted(wanted)
    for start in range(0, len(values), _IDS_IN_A_QUERY):
        some = select(column).where(where, column.in_(values[start : start + _IDS_IN_A_QUERY]))
        found.update(connection.execute(some).scalars())
    return found


def remove_lead(connection: Connection, lead_id: str, *, workspace: int) -> dict[str, Any]:
    """Remove the lead's address from every sequence; events and counts stay (document: DELETE /leads/{id}).

    Raises `NotFound`: the lead is not in this workspace.
    """
    number = ids.decode("ld", lead_id)
    lead = None
    if number is not None:
        mine = select(leads.c.email).where(leads.c.pk == number, leads.c.workspace_pk == workspace)
        lead = connection.execute(mine).first()
    if lead is None:
        raise NotFound("This lead doesn't exist in this workspace.")
    connection.execute(delete(leads).where(leads.c.email == lead.email, leads.c.workspace_pk == workspace))
    return {"id": lead_id, "removed": True}
