"""The outreach service's REST API, as a sandbox.

What the public document leaves unshown is answered in one plain form, described here.

**Authentication.** Every request carries `Authorization: Bearer <API_KEY>`; a key belongs to one workspace. The sandbox
prints the keys of its workspaces as it starts (`api_keys`). A missing or unknown key is answered with 401.

**Limits.** 10 requests per second per key; beyond that 429 with `Retry-After`, the number of seconds to wait.

**Webhooks.** `POST /webhooks` subscribes an address. Each delivery is signed: `X-Service-Signature` is the hex
HMAC-SHA256 of the raw body, keyed with the subscription's secret.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route, Router

from sandbox.service import ids
from sandbox.service.account import Sequence
from sandbox.service.api import schemas
from sandbox.service.api.guard import Caller
from sandbox.service.endpoints import Answer, Api, nothing_here
from sandbox.service.errors import BadRequest, Json, NotFound
from sandbox.service.moments import date_of, day_number
from sandbox.service.people import Person
from sandbox.service.rules import Counts

_DEFAULT_DAYS = 30
_SHOWN_COUNTS = ("sends", "replies", "positive_replies", "meetings")
_ERRORS = {
    400: "A field is missing or invalid. `error.field` names it.",
    401: "The API key is missing or revoked.",
    429: "Too many requests. See `Retry-After`.",
}
MISSING = {404: "The resource does not exist in this workspace."}


API = Api(
    title="Outreach Service REST API (sandbox)",
    description=__doc__ or "",
    security={"securitySchemes": {"bearerAuth": {"type": "http", "scheme": "bearer"}}},
    errors=_ERRORS,
)


@API.add("GET", "/leads", answer=schemas.LeadPage, errors=MISSING)
async def list_leads(
    caller: Caller,
    sequence_id: schemas.SequenceId | None = None,
    status: schemas.LeadStatus | None = None,
    limit: schemas.PageSize = 25,
    cursor: schemas.Cursor | None = None,
) -> Response:
    """List leads, newest first, paginated by cursor."""
    sequence = None if sequence_id is None else _sequence(caller, sequence_id).number
    before = None if cursor is None else ids.decode("cu", cursor)
    page = caller.account.newest(caller.workspace, limit + 1, before=before, sequence=sequence, status=status)
    following = f'"{ids.encode("cu", page[limit - 1].number)}"' if len(page) > limit else "null"
    # Each lead keeps its own JSON, and the page is copied once: encoding it again would take most of a request.
    shown = [lead.shown or lead.show() for lead in page[:limit]] or [b""]
    shown[0] = b'{"data":[' + shown[0]
    shown[-1] += b'],"next_cursor":' + following.encode() + b"}"
    body = b",".join(shown)
    return Response(body, media_type="application/json")


@API.add("POST", "/leads", status=201, answer=schemas.Added, errors=MISSING)
async def add_leads(caller: Caller, body: schemas.NewLeads) -> Answer:
    """Add up to 1,000 leads to a sequence; duplicates and blocklisted addresses are skipped and reported."""
    account, sequence = caller.account, _sequence(caller, body.sequence_id)
    blocked = account.workspaces[caller.workspace].blocklist
    addresses = account.addresses(caller.workspace)
    people, skipped = dict[str, Person](), list[dict[str, str]]()
    for place, lead in enumerate(body.leads):
        email = lead.email.lower()
        if {email, email.partition("@")[2]} & blocked:
            skipped.append({"email": lead.email, "reason": "blocklisted"})
        elif email in people or (email, sequence.number) in addresses:
            skipped.append({"email": lead.email, "reason": "duplicate"})
        else:
            custom = _custom(lead, place=place)
            people[email] = Person(lead.first_name, lead.last_name, lead.company, email, custom)
    for person in people.values():
        account.add_lead(sequence, person, at=caller.service.now())
    return {"added": len(people), "skipped": skipped}


def _custom(lead: schemas.NewLead, *, place: int) -> Answer:
    custom = lead.model_extra or {}
    try:
        json.dumps(custom, allow_nan=False)
    except ValueError:
        raise BadRequest(
            "A custom field has a number that JSON can't represent.", field=f"leads[{place}]"
        ) from None
    return custom


@API.add("DELETE", "/leads/{id}", answer=schemas.Removed, errors=MISSING)
async def remove_lead(caller: Caller, id: schemas.LeadPathId) -> Answer:  # noqa: A002 -- the document's parameter
    """Remove the lead from all sequences; its reply history is kept."""
    lead = caller.account.lead(ids.decode("ld", id))
    if lead is None or lead.workspace != caller.workspace:
        raise NotFound("This lead doesn't exist in this workspace.")
    caller.account.remove_lead(lead)
    return {"id": id, "removed": True}


@API.add("GET", "/sequences", answer=schemas.Sequences)
async def list_sequences(caller: Caller) -> Answer:
    """List the sequences of the workspace with their status and step count."""
    mine = (one for one in caller.account.sequences.values() if one.workspace == caller.workspace)
    return {"data": [_shown(sequence) for sequence in mine]}


@API.add("PATCH", "/sequences/{id}", answer=schemas.Sequence, errors=MISSING)
async def change_sequence(
    caller: Caller,
    id: schemas.SequencePathId,  # noqa: A002 -- the document's parameter
    body: schemas.SequenceChange,
) -> Answer:
    """Pause or resume a sequence."""
    sequence = _sequence(caller, id)
    sequence.status = body.status
    return _shown(sequence)


def _shown(sequence: Sequence) -> Answer:
    return {
        "id": ids.encode("sq", sequence.number),
        "name": sequence.plan.name,
        "status": sequence.status,
        "steps": sequence.plan.steps,
    }


def _sequence(caller: Caller, sequence_id: str) -> Sequence:
    """A sequence of the caller's workspace. Raises `NotFound`: there is none, or it is another workspace's."""
    number = ids.decode("sq", sequence_id)
    sequence = None if number is None else caller.account.sequences.get(number)
    if sequence is None or sequence.workspace != caller.workspace:
        raise NotFound("This sequence doesn't exist in this workspace.")
    return sequence


@API.add("GET", "/inboxes", answer=schemas.Inboxes)
async def list_inboxes(caller: Caller) -> Answer:
    """List connected inboxes with health score, daily limit and status."""
    shown = [
        {
            "id": ids.encode("ib", inbox.number),
            "email": inbox.email,
            "health_score": inbox.health,
            "daily_limit": inbox.daily_limit,
            "status": inbox.status,
        }
        for inbox in caller.account.inboxes.values()
        if inbox.workspace == caller.workspace
    ]
    return {"data": shown}


@API.add("GET", "/stats", answer=schemas.Stats)
async def read_stats(
    caller: Caller,
    group_by: schemas.Grouping = "sequence",
    start: schemas.First = None,
    end: schemas.Last = None,
) -> Answer:
    """Count sends, replies, positive replies and meetings; the last 30 days when both ends are omitted."""
    # The document doesn't show what one end alone means: `to` is then today, and `from` 29 days before `to`.
    last = day_number(end or date_of(caller.service.now()))
    first = last - _DEFAULT_DAYS + 1 if start is None else day_number(start)
    rows = []
    for group, identifier, counts in _groups(caller, group_by, first, last):
        shown = {name: getattr(counts, name) for name in _SHOWN_COUNTS}
        if any(shown.values()):
            rows.append({"group": group, "id": identifier, **shown})
    return {"data": rows}


def _groups(caller: Caller, grouping: str, first: int, last: int) -> Iterator[tuple[str, str, Counts]]:
    """The name, identifier and counts of each group."""
    account, workspace = caller.account, caller.workspace
    if grouping == "sequence":
        for sequence in account.sequences.values():
            if sequence.workspace == workspace:
                counts = account.counts(sequence.inboxes, first, last)
                yield sequence.plan.name, ids.encode("sq", sequence.number), counts
    elif grouping == "inbox":
        for inbox in account.inboxes.values():
            if inbox.workspace == workspace:
                yield inbox.email, ids.encode("ib", inbox.number), inbox.tally.between(first, last)
    else:
        for (kind, group), tally in sorted(account.workspaces[workspace].tallies.items()):
            if kind == grouping:
                yield group, group, tally.between(first, last)


@API.add("POST", "/webhooks", status=201, answer=schemas.Subscribed)
async def subscribe(caller: Caller, body: schemas.NewSubscription) -> Answer:
    """Subscribe an HTTPS endpoint to one or more events; the secret is shown once."""
    made = caller.service.deliveries.subscribe(
        workspace=caller.workspace, url=body.url, events=body.events, now=caller.service.now()
    )
    return {"id": ids.encode("wh", made.number), "secret": made.secret}


def documentation() -> Router:
    routes = [Route("/openapi.json", _openapi), Route("/", _to_the_document)]
    return Router(routes, redirect_slashes=False, default=nothing_here)


async def _openapi(request: Request) -> Response:
    """The document, with the address at which this service was asked for it."""
    servers = [{"url": f"{request.base_url}v1", "description": "This sandbox"}]
    return Json(API.document() | {"servers": servers})


async def _to_the_document(_: Request) -> Response:
    return RedirectResponse("/openapi.json")
