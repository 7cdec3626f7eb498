"""The reads that everybody polls: asked of the database in ready-made statements, past FastAPI's own machinery.

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

from sandbox.service.base.errors import Refusal, invalid, response_of

Endpoint = Callable[..., Awaitable[Response]]


# A poller's answers are small; whoever lists ten thousand inboxes is answered anew.
_KEPT = 128
_KEPT_BYTES = 65_536


class Swift:
    """Answers GETs of some routes, functions of `(request)` or `(request, query)`, and leaves the rest to `app`.

    What was answered is answered again as long as `edition` says the same; None means that nobody can tell.
    """

    def __init__(
        self, app: ASGIApp, *, routes: Iterable[BaseRoute], edition: Callable[[], object | None]
    ) -> None:
        self._app = app
        self._edition = edition
        self._kept: dict[object, Response] = {}
        self._kept_of: object | None = None
        self._answers: dict[str, tuple[Endpoint, type[BaseModel] | None]] = {
            route.path: (route.endpoint, get_type_hints(route.endpoint).get("query"))
            for route in routes
            if isinstance(route, APIRoute)
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        found = self._answers.get(scope["path"]) if scope["method"] == "GET" else None
        if found is None:
            await self._app(scope, receive, send)
        else:
            await (await self._remembered(scope, *found))(scope, receive, send)

    async def _remembered(self, scope: Scope, endpoint: Endpoint, model: type[BaseModel] | None) -> Response:
        edition = self._edition()
        if edition is None:
            return await _answer(Request(scope), endpoint, model)
        if edition != self._kept_of:
            self._kept, self._kept_of = {}, edition
        asked = (scope["workspace"], scope["path"], scope["query_string"])
        known = self._kept.get(asked)
        if known is not None:
            return known
        response = await _answer(Request(scope), endpoint, model)
        small = len(self._kept) < _KEPT and len(response.body) <= _KEPT_BYTES
        if small and response.status_code == 200 and edition == self._edition():
            self._kept[asked] = response
        return response


async def _answer(request: Request, endpoint: Endpoint, model: type[BaseModel] | None) -> Response:
    try:
        return await (endpoint(request) if model is None else endpoint(request, _query(request, model)))
    except ValidationError as error:
        first = error.errors(include_context=False)[0]
        return invalid(first["msg"], ("query", *first["loc"]))
    except Refusal as refusal:
        return response_of(refusal)


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
