"""The eight endpoints of `/v1`."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Header, Path, Query, Request, Security
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response

from sandbox.service.base.clock import day_number
from sandbox.service.base.errors import ApiError, Json, error_response, invalid, refuse
from sandbox.service.v1 import leads, resources, schemas
from sandbox.service.v1.docs_page import add_docs_page
from sandbox.service.v1.fast_reads import Endpoints, endpoints_of
from sandbox.service.v1.openapi import DESCRIPTION, SECURITY, SECURITY_DESCRIPTION, DocumentedAPI
from sandbox.service.v1.request_guard import endpoint_of
from sandbox.service.v1.state import ApiState
from sandbox.service.webhooks.allowed_urls import check_url

_REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"model": schemas.Error, "description": "A field is missing or invalid. `error.field` names it."},
    401: {"model": schemas.Error, "description": "The API key is missing or revoked."},
    429: {"model": schemas.Error, "description": "Too many requests. See `Retry-After`."},
}
_MISSING: dict[int | str, dict[str, Any]] = {
    404: {"model": schemas.Error, "description": "The resource does not exist in this workspace."}
}
_ALLOWED = {
    "/leads": "GET, POST",
    "/leads/{id}": "DELETE",
    "/sequences/{id}": "PATCH",
    "/webhooks": "POST",
}
_SIGNATURE = Header(description="Hex HMAC-SHA256 of the raw body, keyed with the subscription's secret.")

_OPENAPI = "/openapi.json"

LeadId = Annotated[str, Path(min_length=1, max_length=200)]


@cache
def create_api() -> tuple[FastAPI, Endpoints]:
    """The API with its documentation, and the functions of its reads by path.

    All services of a process share it, since building it takes 40 ms: requests to `/v1` carry `scope["api_state"]`, the state of
    their service, and `scope["workspace"]`, which the request guard has put there.
    """
    app = DocumentedAPI(
        title="Outreach Service REST API (sandbox)",
        version="1",
        description=DESCRIPTION,
        openapi_url=None,  # `_openapi` serves it
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        separate_input_output_schemas=False,
    )
    common: dict[str, Any] = {
        "prefix": "/v1",
        "responses": _REFUSALS,
        "dependencies": [
            Security(HTTPBearer(auto_error=False, scheme_name=SECURITY, description=SECURITY_DESCRIPTION))
        ],
        "generate_unique_id_function": lambda route: route.name,
    }
    reads, changes = APIRouter(**common), APIRouter(**common)
    _add_reads(reads)
    _add_changes(changes)
    app.include_router(reads)
    app.include_router(changes)
    _describe_deliveries(app.webhooks)
    _add_openapi(app)
    add_docs_page(app, "/docs", source=_OPENAPI)
    app.add_route("/", _to_the_docs, include_in_schema=False)
    app.add_exception_handler(ApiError, refuse)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _unrouted)
    return app, endpoints_of(reads.routes)


def _add_openapi(app: FastAPI) -> None:
    async def openapi(request: Request) -> Response:
        """The document, with the address at which this service was asked for it."""
        servers = [{"url": f"{request.base_url}v1", "description": "This sandbox"}]
        return JSONResponse(app.openapi() | {"servers": servers})

    app.add_route(_OPENAPI, openapi, include_in_schema=False)


def _state(request: Request) -> ApiState:
    state: ApiState = request.scope["api_state"]
    return state


def _add_reads(router: APIRouter) -> None:
    @router.get("/leads", response_model=schemas.LeadPage, responses=_MISSING, tags=["leads"])
    async def list_leads(request: Request, query: Annotated[schemas.LeadQuery, Query()]) -> Response:
        """List leads, newest first, paginated by cursor."""
        state = _state(request)
        items, cursor = await state.storage.read(
            leads.list_leads,
            workspace=request.scope["workspace"],
            sequence_id=query.sequence_id,
            status=query.status,
            limit=query.limit,
            cursor=query.cursor,
        )
        return state.dialect.page(items, cursor=cursor, asked=query.cursor)

    @router.get("/sequences", response_model=schemas.Sequences, tags=["sequences"])
    async def list_sequences(request: Request) -> Response:
        """List the sequences of the workspace with their status and step count."""
        state, workspace = _state(request), request.scope["workspace"]
        items = await state.storage.read(resources.list_sequences, workspace=workspace)
        return state.dialect.listing("sequences", items)

    @router.get("/inboxes", response_model=schemas.Inboxes, tags=["inboxes"])
    async def list_inboxes(request: Request) -> Response:
        """List connected inboxes with health score, daily limit and status."""
        state, workspace = _state(request), request.scope["workspace"]
        items = await state.storage.read_in_batches(resources.list_inboxes, workspace=workspace)
        return state.dialect.listing("inboxes", items)

    @router.get("/stats", response_model=schemas.Stats, tags=["stats"])
    async def read_stats(request: Request, query: Annotated[schemas.StatsQuery, Query()]) -> Response:
        """Count sends, replies, positive replies and meetings; the last 30 days when both ends are omitted."""
        state, workspace = _state(request), request.scope["workspace"]
        first, last = resources.date_range(query.start, query.end, now=state.now())
        items = await state.storage.read_in_batches(
            state.totals.read,
            workspace=workspace,
            grouping=query.group_by,
            first=day_number(first),
            last=day_number(last),
        )
        return state.dialect.listing("stats", items)


def _add_changes(router: APIRouter) -> None:
    @router.post("/leads", status_code=201, response_model=schemas.Added, responses=_MISSING, tags=["leads"])
    async def add_leads(request: Request, body: schemas.NewLeads) -> Response:
        """Add up to 1,000 leads to a sequence; duplicates and blocklisted addresses are skipped and reported."""
        state = _state(request)
        added = await state.storage.write(
            leads.add_leads,
            workspace=request.scope["workspace"],
            sequence_id=body.sequence_id,
            new=body.leads,
            now=state.now(),
        )
        return Json(added, status_code=201)

    @router.delete("/leads/{id}", response_model=schemas.Removed, responses=_MISSING, tags=["leads"])
    async def remove_lead(request: Request, id: LeadId) -> Response:  # noqa: A002 -- the document's parameter
        """Remove the lead from all sequences; its reply history is kept."""
        state, workspace = _state(request), request.scope["workspace"]
        return state.dialect.done(await state.storage.write(leads.remove_lead, id, workspace=workspace))

    @router.patch("/sequences/{id}", response_model=schemas.Sequence, responses=_MISSING, tags=["sequences"])
    async def change_sequence(
        request: Request,
        id: LeadId,  # noqa: A002 -- the document's parameter
        body: schemas.SequenceChange,
    ) -> Response:
        """Pause or resume a sequence."""
        state, workspace = _state(request), request.scope["workspace"]
        return state.dialect.done(
            await state.storage.write(resources.change_sequence, id, workspace=workspace, status=body.status)
        )

    @router.post("/webhooks", status_code=201, response_model=schemas.Subscribed, tags=["webhooks"])
    async def subscribe(request: Request, body: schemas.NewSubscription) -> Response:
        """Subscribe an HTTPS endpoint to one or more events; the secret is shown once."""
        state, workspace = _state(request), request.scope["workspace"]
        url = check_url(body.url)
        made = await state.storage.write(
            resources.subscribe, workspace=workspace, url=url, events=list(body.events), now=state.now()
        )
        return Json(made, status_code=201)


def _describe_deliveries(router: APIRouter) -> None:
    """The deliveries of each event, for the `webhooks` section of the OpenAPI document."""
    for kind, model in schemas.EVENTS.items():

        async def receive(body: Any, x_service_signature: Annotated[str, _SIGNATURE]) -> None:
            """A subscriber's endpoint; the sandbox itself serves none."""

        receive.__annotations__["body"] = model
        router.add_api_route(
            kind,
            receive,
            methods=["POST"],
            name=f"on_{kind.replace('.', '_')}",
            summary=(model.__doc__ or "").partition(".")[0],
            description=model.__doc__,
            status_code=200,
            response_class=Response,
            response_description="Anything but a 2xx within 10 seconds is retried, 5 times over 24 hours.",
            tags=["deliveries"],
            generate_unique_id_function=lambda route: route.name,
        )


async def _to_the_docs(request: Request) -> Response:
    return RedirectResponse("/docs")


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    if tuple(first["loc"]) == ("body",):
        return invalid(
            "The body must be a JSON object, sent with `Content-Type: application/json`", ("body",)
        )
    return invalid(first["msg"], first["loc"])


async def _unrouted(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        response = error_response(
            405, code="method_not_allowed", message="This path doesn't support this method."
        )
        response.headers["Allow"] = _ALLOWED.get(endpoint_of(request.scope).partition(" ")[2], "GET")
    elif error.status_code == 404:
        response = error_response(404, code="not_found", message="This path doesn't exist. See /docs.")
    else:
        response = error_response(400, code="bad_request", message="The body can't be read.", field="body")
    return response
