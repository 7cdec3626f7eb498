"""Fast versions of frequently polled reads, with prepared statements and without FastAPI's overhead.

FastAPI and SQLAlchemy each cost as much again as the answer itself. FastAPI keeps the OpenAPI document and everything else
that is asked, SQLAlchemy writes the statements; neither is gone through again for every poll.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, get_type_hints
from urllib.parse import parse_qsl

from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from sqlalchemy import Connection, Select
from sqlalchemy.dialects import sqlite
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from sandbox.service.base.errors import ApiError, invalid, response_of

Endpoint = Callable[..., Awaitable[Response]]
Endpoints = dict[str, tuple[Endpoint, type[BaseModel] | None]]
"""Functions of `(request)` or `(request, query)` by path, with the model of the query."""


# Answers to polls are small and worth keeping; a list of ten thousand inboxes is made for each request.
_MAX_CACHED = 128
_MAX_CACHED_BYTES = 65_536


def endpoints_of(routes: Iterable[BaseRoute]) -> Endpoints:
    """The functions of some routes."""
    return {
        route.path: (route.endpoint, get_type_hints(route.endpoint).get("query"))
        for route in routes
        if isinstance(route, APIRoute)
    }


class FastReads:
    """Answers GETs of some endpoints, and leaves the rest to `app`.

    What was answered is answered again as long as `version` says the same; None means that nobody can tell.
    """

    def __init__(self, app: ASGIApp, *, endpoints: Endpoints, version: Callable[[], object | None]) -> None:
        self._app = app
        self._version = version
        self._cached: dict[object, Response] = {}
        self._cached_version: object | None = None
        self._endpoints = endpoints

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = self._endpoints.get(scope["path"]) if scope["method"] == "GET" else None
        if found is None:
            await self._app(scope, receive, send)
        else:
            await (await self._answer_cached(scope, *found))(scope, receive, send)

    async def _answer_cached(
        self, scope: Scope, endpoint: Endpoint, model: type[BaseModel] | None
    ) -> Response:
        version = self._version()
        if version is None:
            return await _answer(Request(scope), endpoint, model)
        if version != self._cached_version:
            self._cached, self._cached_version = {}, version
        asked = (scope["workspace"], scope["path"], scope["query_string"])
        known = self._cached.get(asked)
        if known is not None:
            return known
        response = await _answer(Request(scope), endpoint, model)
        small = len(self._cached) < _MAX_CACHED and len(response.body) <= _MAX_CACHED_BYTES
        if small and response.status_code == 200 and version == self._version():
            self._cached[asked] = response
        return response


async def _answer(request: Request, endpoint: Endpoint, model: type[BaseModel] | None) -> Response:
    try:
        return await (endpoint(request) if model is None else endpoint(request, _query(request, model)))
    except ValidationError as error:
        first = error.errors(include_context=False)[0]
        return invalid(first["msg"], ("query", *first["loc"]))
    except ApiError as error:
        return response_of(error)


def _query(request: Request, model: type[BaseModel]) -> BaseModel:
    pairs = parse_qsl(request.scope["query_string"].decode("latin-1"), keep_blank_values=True)
    return model.model_validate(dict(pairs))


class Statement:
    """A SELECT that SQLite is asked directly, in text that was compiled once; PostgreSQL the usual way."""

    def __init__(self, select: Select[Any]) -> None:
        self._select = select
        compiled = select.compile(dialect=sqlite.dialect(paramstyle="named"))
        self._text, self._fixed = str(compiled), {k: v for k, v in compiled.params.items() if v is not None}

    def rows(self, connection: Connection, **values: Any) -> Sequence[Any]:
        """All rows, as tuples."""
        driver = connection.connection.driver_connection
        if isinstance(driver, sqlite3.Connection):
            return driver.execute(self._text, self._fixed | values).fetchall()
        return connection.execute(self._select, values).all()
