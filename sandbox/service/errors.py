"""The service's errors, with the document's status and code (section Errors)."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response


class ApiError(Exception):
    """The request cannot be carried out."""

    status = 400
    code = "bad_request"

    def __init__(
        self, message: str | None = None, *, field: str | None = None, retry_after: int | None = None
    ) -> None:
        self.message = message or type(self).__doc__ or ""
        self.field = field
        self.retry_after = retry_after
        super().__init__(self.message)


class BadRequest(ApiError):
    """A field is missing or invalid."""


class Unauthorized(ApiError):
    """The API key is missing or revoked."""

    status = 401
    code = "unauthorized"


class NotFound(ApiError):
    """The resource does not exist in this workspace."""

    status = 404
    code = "not_found"


class RateLimited(ApiError):
    """Too many requests: 10 per second per key are allowed."""

    status = 429
    code = "rate_limited"


CODES = {kind.status: kind.code for kind in (BadRequest, Unauthorized, NotFound, RateLimited)}


encode_json = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
"""Kept, because `json.dumps` with such separators makes an encoder each time."""


class Json(Response):
    """A JSON response that any text survives: lone surrogates and the like leave escaped."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return encode_json(content).encode("ascii")


def response_of(error: ApiError) -> Json:
    """The error as an HTTP response."""
    return error_response(
        error.status,
        code=error.code,
        message=error.message,
        field=error.field,
        retry_after=error.retry_after,
    )


def error_response(
    status: int, *, code: str, message: str, field: str | None = None, retry_after: int | None = None
) -> Json:
    """The one error body: `{"error": {"code", "message", "field"?}}`."""
    error: dict[str, Any] = {"code": code, "message": message}
    if field is not None:
        error["field"] = field
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    if status == Unauthorized.status:
        headers["WWW-Authenticate"] = "Bearer"
    return Json({"error": error}, status_code=status, headers=headers)
