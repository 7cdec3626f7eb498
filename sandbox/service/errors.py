"""The service's errors, with the document's status and code (section Errors)."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import BaseModel, Field
from starlette.responses import Response
from typing_extensions import TypeAliasType

# An alias has a name in the OpenAPI document, so that a generated client has one enumeration of it.
ErrorCode = TypeAliasType(
    "ErrorCode",
    Literal["bad_request", "unauthorized", "not_found", "rate_limited", "method_not_allowed", "server_error"],
)


class ErrorBody(BaseModel):
    """The code, the sentence and the field of an error."""

    code: ErrorCode
    message: str = Field(examples=["Input should be less than or equal to 100."])
    field: str | None = None


class Error(BaseModel):
    """Every error has this body."""

    error: ErrorBody


class ApiError(Exception):
    """The request cannot be carried out."""

    status = 400
    code = "bad_request"

    def __init__(self, message: str = "", *, field: str | None = None, **headers: str) -> None:
        super().__init__(message)
        self.message = message or str(type(self).__doc__)
        self.field = field
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    def response(self) -> Json:
        error = {"code": self.code, "message": self.message}
        if self.field is not None:
            error["field"] = self.field
        return Json({"error": error}, status_code=self.status, headers=self.headers)


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


class NotAllowed(ApiError):
    """This path has other methods."""

    status = 405
    code = "method_not_allowed"


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


def place_of(location: tuple[int | str, ...]) -> str:
    """Spell where pydantic found a mistake in a body or a file: `("leads", 3, "email")` -> `leads[3].email`."""
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path
