"""Endpoints that are declared once: served by Starlette, checked by pydantic, and described in an OpenAPI document."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, get_type_hints
from urllib.parse import parse_qsl

from pydantic import BaseModel, TypeAdapter, ValidationError, create_model
from pydantic.json_schema import models_json_schema
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from sandbox.service.errors import CODES, ApiError, BadRequest, Json, error_response, response_of

BODY_LIMIT = 8 * 1024 * 1024
Answer = dict[str, Any]
Document = dict[str, Any]
Location = tuple[int | str, ...]
Handler = Callable[..., Awaitable[Response | Answer]]
H = TypeVar("H", bound=Handler)
Invalid = Callable[[list[dict[str, Any]]], Response]
"""Answers with what is wrong: pydantic's errors, whose places begin with `query` or `body`."""

_SCHEMAS = "#/components/schemas/"
_HEADERS: dict[int, Document] = {
    401: {"WWW-Authenticate": {"required": True, "schema": {"type": "string", "const": "Bearer"}}},
    429: {
        "Retry-After": {
            "description": "Seconds to wait before the next request.",
            "required": True,
            "schema": {"type": "integer", "minimum": 1},
            "example": 1,
        }
    },
}


class InvalidRequest(Exception):
    """A query or body that doesn't have the declared form."""

    def __init__(self, errors: list[dict[str, Any]]) -> None:
        super().__init__(errors)
        self.errors = errors


class Endpoint:
    """One method of one path.

    The handler's signature declares what is asked for: after the caller come the variable parts of the path, a `body`,
    and the parameters of the query.
    """

    def __init__(
        self,
        method: str,
        path: str,
        handler: Handler,
        *,
        status: int,
        answer: type[BaseModel] | None,
        errors: Mapping[int, str],
    ) -> None:
        self.method = method
        self.path = path
        self.handler = handler
        self.status = status
        self.answer = answer
        self.errors = errors
        caller, *parameters = inspect.signature(handler).parameters.values()
        # The caller's type may be imported for type checkers alone.
        hints = get_type_hints(handler, localns={str(caller.annotation): object}, include_extras=True)
        self.body: type[BaseModel] | None = hints.get("body")
        self.needs_body = self.body is not None
        self.parts: dict[str, Document] = {}
        asked: dict[str, Any] = {}
        for parameter in parameters:
            name, default = parameter.name, parameter.default
            if name == "body":
                self.needs_body = default is parameter.empty
            elif f"{{{name}}}" in path:
                self.parts[name] = TypeAdapter(hints[name]).json_schema()
            else:
                asked[name] = (hints[name], ... if default is parameter.empty else default)
        self.query = create_model(f"{handler.__name__}_query", **asked) if asked else None

    async def respond(self, scope: Scope, receive: Receive) -> Response:
        arguments: dict[str, Any] = dict(scope["path_params"])
        if self.query is not None:
            pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
            arguments |= vars(_checked(self.query, dict(pairs), "query"))
        if self.body is not None:
            content = await _read(scope, receive)
            if content or self.needs_body:
                arguments["body"] = _checked(self.body, _parsed(scope, content), "body")
        answer = await self.handler(scope["caller"], **arguments)
        return answer if isinstance(answer, Response) else Json(answer, status_code=self.status)


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """Endpoints, with what their OpenAPI document says of all of them."""

    title: str
    description: str
    invalid: Invalid
    """Answers a request that doesn't have the declared form."""
    error: type[BaseModel]
    """The body of every error."""
    invalid_error: type[BaseModel]
    """The body of those of status 422."""
    errors: Mapping[int, str]
    """What is said of each status that every endpoint may answer."""
    security: Document = field(default_factory=dict)
    has_examples: bool = False
    """True where every field of every model declares an example."""
    endpoints: list[Endpoint] = field(default_factory=list)

    def add(
        self,
        method: str,
        path: str,
        *,
        answer: type[BaseModel] | None = None,
        status: int = 200,
        errors: Mapping[int, str] | None = None,
    ) -> Callable[[H], H]:
        """Declare the decorated function as an endpoint; `errors` are those that it answers besides the usual ones."""
        possible = {**self.errors, **(errors or {})}

        def declare(handler: H) -> H:
            made = Endpoint(method, path, handler, status=status, answer=answer, errors=possible)
            self.endpoints.append(made)
            return handler

        return declare

    def routes(self, prefix: str = "") -> list[Route]:
        """A route for each path; requests carry `scope["caller"]`, the handlers' first argument."""
        by_path: dict[str, dict[str, Endpoint]] = {}
        for endpoint in self.endpoints:
            by_path.setdefault(endpoint.path, {})[endpoint.method] = endpoint
        return [Route(prefix + path, _Path(methods, self.invalid)) for path, methods in by_path.items()]

    def document(self, more: Iterable[type[BaseModel]] = ()) -> Document:
        """The OpenAPI document without the server's address; `more` models are described as well."""
        models = {self.error, self.invalid_error, *more}
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

    def content(self, model: type[BaseModel] | None, schemas: Document) -> Document:
        """How a body of this model is described; of None it is any object."""
        schema = {"$ref": f"{_SCHEMAS}{model.__name__}"} if model else {"type": "object"}
        described: Document = {"schema": schema}
        if self.has_examples:
            described["example"] = _example(schema, schemas)
        return {"application/json": described}

    def _operation(self, endpoint: Endpoint, schemas: Document) -> Document:
        text = inspect.getdoc(endpoint.handler) or ""
        answer = self.content(endpoint.answer, schemas)
        responses = {str(endpoint.status): {"description": "Done.", "content": answer}}
        for status, description in endpoint.errors.items():
            content = self.content(self.invalid_error if status == 422 else self.error, schemas)
            if self.has_examples:
                error = {"code": CODES[status], "message": description}
                content["application/json"]["example"] = {"error": error}
            headers = _HEADERS.get(status, {})
            responses[str(status)] = {"description": description, "content": content, "headers": headers}
        operation: Document = {
            "operationId": endpoint.handler.__name__,
            "summary": text.partition(".")[0],
            "description": text,
            "tags": [endpoint.path.split("/")[1]],
            "parameters": list(_parameters(endpoint, schemas)),
            "responses": responses,
            "security": [{scheme: []} for scheme in self.security.get("securitySchemes", ())],
        }
        if endpoint.body is not None:
            content = self.content(endpoint.body, schemas)
            operation["requestBody"] = {"required": endpoint.needs_body, "content": content}
        return operation


class _Path:
    """All methods of one path."""

    def __init__(self, methods: dict[str, Endpoint], invalid: Invalid) -> None:
        self._methods = methods
        self._invalid = invalid

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._respond(scope, receive)
        await response(scope, receive, send)

    async def _respond(self, scope: Scope, receive: Receive) -> Response:
        endpoint = self._methods.get(scope["method"])
        if endpoint is None:
            allowed = ", ".join(sorted(self._methods))
            response = error_response(405, code="method_not_allowed", message=f"This path takes {allowed}.")
            response.headers["Allow"] = allowed
            return response
        try:
            return await endpoint.respond(scope, receive)
        except ApiError as error:
            return response_of(error)
        except InvalidRequest as error:
            return self._invalid(error.errors)


async def _read(scope: Scope, receive: Receive) -> bytes:
    """The body. Raises `BadRequest`: it is too large, whether announced or in chunks."""
    length = Headers(scope=scope).get("content-length", "")
    content, more = bytearray(), True
    while more and len(content) <= BODY_LIMIT and not (length.isdigit() and int(length) > BODY_LIMIT):
        message = await receive()
        content += message.get("body", b"")
        more = message.get("more_body", False)
    if more:
        raise BadRequest(f"The body is larger than {BODY_LIMIT} bytes.", field="body")
    return bytes(content)


def _parsed(scope: Scope, content: bytes) -> Any:
    media_type = Headers(scope=scope).get("content-type", "").partition(";")[0].strip().lower()
    try:
        if media_type == "application/json":
            return json.loads(content)
    except (ValueError, RecursionError):
        pass
    message = "The body must be a JSON object, sent with `Content-Type: application/json`"
    raise InvalidRequest([{"type": "json_invalid", "loc": ("body",), "msg": message}])


def _checked(model: type[BaseModel], value: Any, part: str) -> BaseModel:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        found = error.errors(include_context=False, include_input=False, include_url=False)
        raise InvalidRequest([{**one, "loc": (part, *one["loc"])} for one in found]) from None


def _parameters(endpoint: Endpoint, schemas: Document) -> Iterator[Document]:
    for name, schema in endpoint.parts.items():
        yield _parameter("path", name, schema, required=True)
    if endpoint.query is None:
        return
    model = schemas[endpoint.query.__name__]
    for name, schema in model["properties"].items():
        # A query has no null: a parameter that may be left out is described by what it is otherwise.
        options = [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
        required = name in model.get("required", ())
        yield _parameter("query", name, schema | (options[0] if options else {}), required=required)


def _parameter(place: str, name: str, schema: Document, *, required: bool) -> Document:
    about = {key: value for key, value in schema.items() if key not in {"anyOf", "examples", "default"}}
    made = {"name": name, "in": place, "required": required, "schema": about}
    if "examples" in schema:
        made["example"] = schema["examples"][0]
    return made


def _example(schema: Document, schemas: Document) -> Any:
    """An example of a value: what the field declares, or made of its members' examples."""
    if "$ref" in schema:
        return _example(schemas[schema["$ref"].removeprefix(_SCHEMAS)], schemas)
    if "anyOf" in schema and "examples" not in schema:
        return _example(schema["anyOf"][0], schemas)
    if schema.get("type") == "array":
        return [_example(schema["items"], schemas)]
    known = [*schema.get("examples", ()), *schema.get("enum", ()), schema.get("const")]
    members = {name: _example(member, schemas) for name, member in schema.get("properties", {}).items()}
    return members or known[0]
