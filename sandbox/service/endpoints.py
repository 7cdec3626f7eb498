"""Endpoints that are declared once: served by Starlette, checked by pydantic, and described in an OpenAPI document."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, get_type_hints
from urllib.parse import parse_qsl

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.json_schema import models_json_schema
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from sandbox.service.errors import CODES, ApiError, BadRequest, Json, error_response, response_of

BODY_LIMIT = 8 * 1024 * 1024
Document = dict[str, Any]
Location = tuple[int | str, ...]
Handler = Callable[..., Awaitable[Response | dict[str, Any]]]
Invalid = Callable[[list[dict[str, Any]]], Response]
"""Answers with what is wrong: pydantic's errors, whose places begin with `query` or `body`."""


class InvalidRequest(Exception):
    """A query or body that doesn't have the declared form."""

    def __init__(self, errors: list[dict[str, Any]]) -> None:
        super().__init__(errors)
        self.errors = errors


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One method of one path. The handler's arguments `query` and `body` say the models, the others are of the path."""

    method: str
    path: str
    handler: Handler
    parts: Mapping[str, Document]
    """The schema of each variable part of the path."""
    query: type[BaseModel] | None
    body: type[BaseModel] | None
    needs_body: bool
    answer: type[BaseModel] | None
    status: int
    errors: Mapping[int, str]
    tag: str

    async def respond(self, scope: Scope, receive: Receive) -> Response:
        arguments: dict[str, Any] = dict(scope["path_params"])
        if self.query is not None:
            pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
            arguments["query"] = _checked(self.query, dict(pairs), "query")
        if self.body is not None:
            content = await _read(scope, receive)
            if content or self.needs_body:
                arguments["body"] = _checked(self.body, _parsed(scope, content), "body")
        answer = await self.handler(scope["caller"], **arguments)
        return answer if isinstance(answer, Response) else Json(answer, status_code=self.status)


@dataclass(slots=True, kw_only=True)
class Api:
    """Endpoints under one prefix, with what their OpenAPI document says of all of them."""

    title: str
    description: str
    prefix: str
    invalid: Invalid
    error: type[BaseModel]
    invalid_error: type[BaseModel] | None = None
    security: Document = field(default_factory=dict)
    has_examples: bool = False
    endpoints: list[Endpoint] = field(default_factory=list)

    def add(
        self,
        method: str,
        path: str,
        *,
        errors: Mapping[int, str],
        answer: type[BaseModel] | None = None,
        status: int = 200,
        tag: str = "",
    ) -> Callable[[Handler], Handler]:
        """Declare the decorated function as an endpoint."""

        def declare(handler: Handler) -> Handler:
            parameters = inspect.signature(handler).parameters
            # The first argument is the caller, whose type may be imported for type checkers alone.
            caller = str(next(iter(parameters.values())).annotation)
            hints = get_type_hints(handler, localns={caller: object}, include_extras=True)
            body = hints.get("body")
            parts = [name for name in parameters if f"{{{name}}}" in path]
            self.endpoints.append(
                Endpoint(
                    method=method,
                    path=path,
                    handler=handler,
                    parts={name: TypeAdapter(hints[name]).json_schema() for name in parts},
                    query=hints.get("query"),
                    body=body,
                    needs_body=body is not None and parameters["body"].default is inspect.Parameter.empty,
                    answer=answer,
                    status=status,
                    errors=errors,
                    tag=tag,
                )
            )
            return handler

        return declare

    def routes(self) -> list[Route]:
        """A route for each path; requests carry `scope["caller"]`, the handlers' first argument."""
        by_path: dict[str, dict[str, Endpoint]] = {}
        for endpoint in self.endpoints:
            by_path.setdefault(endpoint.path, {})[endpoint.method] = endpoint
        return [Route(self.prefix + path, _Path(self, methods)) for path, methods in by_path.items()]

    def document(self) -> Document:
        """The OpenAPI document, without the address of the server."""
        models = {
            model
            for one in self.endpoints
            for model in (one.query, one.body, one.answer, self.error, self.invalid_error)
            if model is not None
        }
        schemas = schemas_of(models)
        paths: Document = {}
        for endpoint in self.endpoints:
            operation = _Operation(self, endpoint, schemas).described()
            paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = operation
        queries = {one.query.__name__ for one in self.endpoints if one.query is not None}
        components = {name: schema for name, schema in schemas.items() if name not in queries}
        return {
            "openapi": "3.1.0",
            "info": {"title": self.title, "version": "1", "description": self.description},
            "paths": paths,
            "components": {"schemas": components} | self.security,
        }


class _Path:
    """All methods of one path."""

    def __init__(self, api: Api, methods: dict[str, Endpoint]) -> None:
        self._api = api
        self._methods = methods

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
            return self._api.invalid(error.errors)


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


@dataclass(frozen=True, slots=True)
class _Operation:
    """One endpoint as OpenAPI describes it."""

    api: Api
    endpoint: Endpoint
    schemas: Document

    def described(self) -> Document:
        endpoint = self.endpoint
        text = inspect.getdoc(endpoint.handler) or ""
        operation: Document = {
            "operationId": endpoint.handler.__name__,
            "summary": text.partition(".")[0],
            "description": text,
            "parameters": list(self._parameters()),
            "responses": dict(self._responses()),
        }
        if endpoint.tag:
            operation["tags"] = [endpoint.tag]
        for scheme in self.api.security.get("securitySchemes", ()):
            operation["security"] = [{scheme: []}]
        if endpoint.body is not None:
            content = {"application/json": self._content(endpoint.body)}
            operation["requestBody"] = {"required": endpoint.needs_body, "content": content}
        return operation

    def _parameters(self) -> Iterator[Document]:
        for part in self.endpoint.path.split("/"):
            if part.startswith("{"):
                name = part.strip("{}")
                yield _parameter("path", name, self.endpoint.parts[name], required=True)
        if self.endpoint.query is None:
            return
        model = self.schemas[self.endpoint.query.__name__]
        for name, schema in model.get("properties", {}).items():
            options = [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
            about = {key: value for key, value in schema.items() if key in {"description", "examples"}}
            shown = (options[0] if len(options) == 1 else schema) | about
            yield _parameter("query", name, shown, required=name in model.get("required", ()))

    def _responses(self) -> Iterator[tuple[str, Document]]:
        endpoint = self.endpoint
        answer: Document = {"schema": {"type": "object"}}
        if endpoint.answer is not None:
            answer = self._content(endpoint.answer)
        yield str(endpoint.status), {"description": "Done.", "content": {"application/json": answer}}
        for status, description in endpoint.errors.items():
            model = self.api.invalid_error if status == 422 else None
            content = self._content(model or self.api.error)
            if self.api.has_examples:
                content["example"]["error"] |= {"code": CODES[status], "message": description}
            response = {"description": description, "content": {"application/json": content}}
            if status in _HEADERS:
                response["headers"] = _HEADERS[status]
            yield str(status), response

    def _content(self, model: type[BaseModel]) -> Document:
        content: Document = {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}
        if self.api.has_examples:
            content["example"] = example_of(content["schema"], self.schemas)
        return content


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


def _parameter(place: str, name: str, schema: Document, *, required: bool) -> Document:
    about = dict(schema)
    made = {"name": name, "in": place, "required": required, "schema": about}
    if "description" in about:
        made["description"] = about.pop("description")
    if "examples" in about:
        made["example"] = about.pop("examples")[0]
    return made


def schemas_of(models: set[type[BaseModel]]) -> Document:
    listed = [(model, "validation") for model in sorted(models, key=lambda one: one.__name__)]
    _, found = models_json_schema(listed, ref_template="#/components/schemas/{model}")  # type: ignore[arg-type]
    schemas: Document = found.get("$defs", {})
    return schemas


def example_of(schema: Document, schemas: Document) -> Any:
    """An example of a value: of the first field that declares one, or made of its members' examples."""
    if "$ref" in schema:
        return example_of(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    if "examples" in schema:
        return schema["examples"][0]
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "array":
        return [example_of(schema["items"], schemas)]
    members = schema.get("properties", {}).items()
    return {name: example_of(member, schemas) for name, member in members if name != "field"}
