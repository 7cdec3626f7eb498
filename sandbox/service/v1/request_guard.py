"""The guard of `/v1`: checks key, rate limit, faults and body size before routing."""

from __future__ import annotations

import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sandbox.service.base.errors import ApiError, BadRequest, RateLimited, Unauthorized, response_of
from sandbox.service.v1.faults import respond_with_fault
from sandbox.service.v1.rate_limits import retry_after
from sandbox.service.v1.state import ApiState

BODY_LIMIT = 8 * 1024 * 1024


class RequestGuard:
    """An ASGI application around the API's own."""

    def __init__(self, app: ASGIApp, state: ApiState) -> None:
        self._app = app
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = endpoint_of(scope)

        async def metered(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._state.request_counts.answered(endpoint, message["status"])
            await send(message)

        try:
            await self._admit(scope)
        except ApiError as error:
            await response_of(error)(scope, receive, metered)
            return
        fault = self._state.faults.take(lambda one: one.matches(endpoint))
        if fault is None:
            await self._app(scope, bounded(receive), metered)
        else:
            self._state.request_counts.answered(endpoint, fault.status or 0)
            await respond_with_fault(fault, self._app, scope, bounded(receive), send)

    async def _admit(self, scope: Scope) -> None:
        """Reject requests without a key, above the rate limit, or too large; store the workspace of the others."""
        caller = self._caller(scope)
        if caller is None:
            raise Unauthorized
        key, workspace = caller
        now = time.time()
        self._state.request_counts.arrived(key, now=now)
        wait = await self._state.limiter.admit(key, now=now)
        if wait is not None:
            raise RateLimited(retry_after=retry_after(wait))
        if _length(scope) > BODY_LIMIT:
            raise BadRequest(f"The body is larger than {BODY_LIMIT} bytes.", field="body")
        scope["api_state"], scope["workspace"] = self._state, workspace

    def _caller(self, scope: Scope) -> tuple[str, int] | None:
        """The request's key and its workspace; None for a missing, unknown or revoked key."""
        for name, value in scope["headers"]:
            if name == b"authorization":
                scheme, _, key = value.decode("latin-1").partition(" ")
                found = self._state.keys.get(key.strip()) if scheme.lower() == "bearer" else None
                return None if found is None else (key.strip(), found)
        return None


def endpoint_of(scope: Scope) -> str:
    """`PATCH /sequences/{id}` for a request to `/v1/sequences/sq_…`."""
    head, slash, _ = scope["path"].removeprefix("/v1").removeprefix("/").partition("/")
    return f"{scope['method']} /{head}{'/{id}' if slash else ''}"


def _length(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() else 0
    return 0


def bounded(receive: Receive) -> Receive:
    """A `receive` that refuses to take in more than the limit, for bodies that come in chunks."""
    taken = 0

    async def receive_bounded() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > BODY_LIMIT:
            raise BadRequest(f"The body is larger than {BODY_LIMIT} bytes.", field="body")
        return message

    return receive_bounded
