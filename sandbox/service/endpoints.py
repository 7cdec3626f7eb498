"""Endpoints that are declared once: served by Starlette, checked by pydantic, and described in an OpenAPI document."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, get_type_hints
from urllib.parse import parse_qsl

from pydantic import BaseModel, TypeAdapter, ValidationError, create_model
from pydantic.json_schema import models_json_schema
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from sandbox.asgi_server import TooLarge, body_of
from sandbox.service.errors import ApiError, BadRequest, Error, Json, NotAllowed, NotFound, place_of

Answer = dict[str, Any]
Document = dict[str, Any]
Handler = Callable[..., Awaitable[Response | Answer]]
H = TypeVar("H", bound=Handler)

_SCHEMAS = "#/components/schemas/"
_HEADERS: dict[int, Document] = {
    401: {"WWW-Authenticate": {"required": True, "schema": {"type": "string", "const": "Bearer"}}},
    429: {
        "Retry-After": {
            "description": "Seconds to wait before the next request.",
            "required": True,
            "schema": {"type": "integer", "minimum": 1},
        }
    },
}


@dataclass(kw_only=True)
class Endpoint:
    """One method of one path.

    The handler's signature declares what is asked for: after the caller come the variable parts of the path, a `body`,
    and the parameters of the query.
    """

    method: str
    path: str
    handler: Handler
    name: str
    status: int
    answer: type[BaseModel] | None
    errors: Mapping[int, str]

    def __post_init__(self) -> None:
        caller, *parameters = inspect.signature(self.handler).parameters.values()
        # The caller's type may be imported for type checkers alone.
        hints = get_type_hints(self.handler, localns={str(caller.annotation): object}, include_extras=True)
        self.body: type[BaseModel] | None = hints.get("body")
        self.needs_body = False
        self.parts: dict[str, Document] = {}
        asked: dict[str, Any] = {}
        for parameter in parameters:
            name, needed = parameter.name, parameter.default is parameter.empty
            if name == "body":
                self.needs_body = needed
            elif f"{{{name}}}" in self.path:
                self.parts[name] = TypeAdapter(hints[name]).json_schema()
            else:
                asked[name] = (hints[name], ... if needed else parameter.default)
        self.query = create_model(f"{self.name}_query", **asked) if asked else None

    async def respond(self, scope: Scope, receive: Receive) -> Response:
        """Check the request, and have it carried out. Raises `ApiError`."""
        arguments: dict[str, Any] = dict(scope["path_params"])
        if self.query is not None:
            pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
            arguments |= vars(_checked(self.query, dict(pairs)))
        if self.body is not None:
            content = await body_of(Request(scope, receive))
            # A body that may be left out may be empty, too, whatever its content type.
            if content or self.needs_body:
                arguments["body"] = _checked(self.body, _parsed(scope, content))
        answer = await self.handler(scope["caller"], **arguments)
        return answer if isinstance(answer, Response) else Json(answer, status_code=self.status)


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """Endpoints, with what their OpenAPI document says of all of them."""

    title: str
    description: str
    errors: Mapping[int, str]
    """The description of each status that every endpoint may answer."""
    security: Document = field(default_factory=dict)
    endpoints: list[Endpoint] = field(default_factory=list)

    def add(
        self,
        method: str,
        path: str,
        *,
        name: str = "",
        answer: type[BaseModel] | None = None,
        status: int = 200,
        errors: Mapping[int, str] | None = None,
    ) -> Callable[[H], H]:
        """Declare the decorated function as an endpoint.

        `name` is another one than the function's, `errors` are those that it answers beside the usual ones.
        """

        def declare(handler: H) -> H:
            made = Endpoint(
                method=method,
                path=path,
                handler=handler,
                name=name or handler.__name__,
                status=status,
                answer=answer,
                errors={**self.errors, **(errors or {})},
            )
            self.endpoints.append(made)
            return handler

        return declare

    def router(self, prefix: str = "", *more: Route) -> Router:
        """Serve the endpoints to requests that carry `scope["caller"]`, the handlers' first argument."""
        by_path: dict[str, dict[str, Endpoint]] = {}
        for endpoint in self.endpoints:
            by_path.setdefault(endpoint.path, {})[endpoint.method] = endpoint
        routes = [Route(prefix + path, _Path(methods)) for path, methods in by_path.items()]
        return Router([*routes, *more], redirect_slashes=False, default=nothing_here)

    def document(self) -> Document:
        """The OpenAPI document without the server's address."""
        models: set[type[BaseModel]] = {Error}
        for one in self.endpoints:
            models |= {model for model in (one.query, one.body, one.answer) if model is not None}
        listed = [(model, "validation") for model in sorted(models, key=lambda model: model.__name__)]
        _, found = models_json_schema(listed, ref_template=f"{_SCHEMAS}{{model}}")  # type: ignore[arg-type]
        schemas: Document = found["$defs"]
        paths: Document = {}
        for endpoint in self.endpoints:
            operation = self._operation(endpoint, schemas)
            paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = operation
        shown = {name: schema for name, schema in schemas.items() if not name.endswith("_query")}
        return {
            "openapi": "3.1.0",
            "info": {"title": self.title, "version": "1", "description": self.description},
            "paths": paths,
            "components": {"schemas": shown} | self.security,
        }

    def _operation(self, endpoint: Endpoint, schemas: Document) -> Document:
        text = inspect.getdoc(endpoint.handler) or ""
        responses = {str(endpoint.status): {"description": "Done.", "content": _content_of(endpoint.answer)}}
        for status, description in endpoint.errors.items():
            headers = _HEADERS.get(status, {})
            error = {"description": description, "content": _content_of(Error), "headers": headers}
            responses[str(status)] = error
        operation: Document = {
            "operationId": endpoint.name,
            "description": text,
            "tags": [endpoint.path.split("/")[1]],  # a generator makes a module of each
            "parameters": list(_parameters(endpoint, schemas)),
            "responses": responses,
            "security": [{scheme: []} for scheme in self.security.get("securitySchemes", ())],
        }
        if endpoint.body is not None:
            body = _content_of(endpoint.body)
            operation["requestBody"] = {"required": endpoint.needs_body, "content": body}
        return operation


def _content_of(model: type[BaseModel] | None) -> Document:
    """Describe a body of this model; without one it is any object."""
    schema = {"$ref": f"{_SCHEMAS}{model.__name__}"} if model else {"type": "object"}
    return {"application/json": {"schema": schema}}


def _parameters(endpoint: Endpoint, schemas: Document) -> Iterator[Document]:
    for name, schema in endpoint.parts.items():
        yield {"name": name, "in": "path", "required": True, "schema": schema}
    model = schemas[endpoint.query.__name__] if endpoint.query else {"properties": {}}
    for name, schema in model["properties"].items():
        # A query has no null: a parameter that may be left out is described by what it is otherwise.
        options = [one for one in schema.pop("anyOf", ()) if one != {"type": "null"}]
        schema.pop("default", None)
        required = name in model.get("required", ())
        described = schema | (options[0] if options else {})
        yield {"name": name, "in": "query", "required": required, "schema": described}


class _Path:
    """All methods of one path."""

    def __init__(self, methods: dict[str, Endpoint]) -> None:
        self._methods = methods

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            response = await self._endpoint(scope["method"]).respond(scope, receive)
        except ApiError as error:
            response = error.response()
        except TooLarge as error:
            response = BadRequest(f"{error}.", field="body").response()
        await response(scope, receive, send)

    def _endpoint(self, method: str) -> Endpoint:
        if method not in self._methods:
            allowed = ", ".join(sorted(self._methods))
            raise NotAllowed(f"This path takes {allowed}.", Allow=allowed)
        return self._methods[method]


async def nothing_here(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer 404 for a path that doesn't exist."""
    error = NotFound("This path doesn't exist. See /openapi.json.")
    await error.response()(scope, receive, send)


def _parsed(scope: Scope, content: bytes) -> Any:
    media_type = Headers(scope=scope).get("content-type", "").partition(";")[0].strip().lower()
    try:
        if media_type == "application/json":
            return json.loads(content)
    except (ValueError, RecursionError):
        pass
    message = "The body must be a JSON object, sent with `Content-Type: application/json`."
    raise BadRequest(message, field="body")


def _checked(model: type[BaseModel], value: Any) -> BaseModel:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_context=False, include_input=False, include_url=False)[0]
    message = str(first["msg"]).removeprefix("Value error, ")
    raise BadRequest(f"{message}.", field=place_of(first["loc"]) or "body")
