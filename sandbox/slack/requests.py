"""Reads the bodies of requests, within a bound."""

from __future__ import annotations

import json
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request

MAX_BODY_BYTES = 8 * 1024 * 1024


async def body_of(request: Request) -> bytes:
    """Return the body. Raises `HTTPException` (413) where it is too large."""
    chunks, size = [], 0
    # One that is too large is read to its end, since a sender who still writes reads no answer.
    async for chunk in request.stream():
        size += len(chunk)
        if size <= MAX_BODY_BYTES:
            chunks.append(chunk)
    if size > MAX_BODY_BYTES:
        raise HTTPException(413, "request_too_large")
    return b"".join(chunks)


async def json_of(request: Request) -> Any:
    """Return the body's JSON, an empty object where there is no body. Raises `ValueError`."""
    try:
        return json.loads(await body_of(request) or b"{}")
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
