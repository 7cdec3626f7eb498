"""The door to `/slack/events`: what is malformed is refused here, so that the framework never stumbles over it.

The SDK's verifier raises on a timestamp that is no number and on a body or header that is no text; the last of
duplicate headers would win, and nothing caps the body. The signature itself is still checked by Bolt.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from bot.receiver import Gone, Receive, Scope, Send, TooLarge, answer, read_body

MOST_BYTES = 1024 * 1024
_SIGNED = (b"x-slack-signature", b"x-slack-request-timestamp")

Application = Callable[[Any, Any, Any], Awaitable[None]]


class SlackGate:
    """Wraps Bolt's ASGI application."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let through what has the form of a signed request."""
        try:
            body = await read_body(scope, receive, most=MOST_BYTES)
        except TooLarge:
            return await answer(send, 413)
        except Gone:
            return None
        status = refusal(scope["headers"], body)
        if status:
            return await answer(send, status)
        return await self._application(scope, _replay(body), send)


def refusal(headers: Iterable[tuple[bytes, bytes]], body: bytes) -> int | None:
    """The status that answers a malformed request; None: it may pass to the check of its signature."""
    found = [(name, value) for name, value in headers if name in _SIGNED]
    if sorted(name for name, _ in found) != sorted(_SIGNED):
        return 401
    values = dict(found)
    if not all(value.isascii() for value in values.values()):
        return 401
    if not values[b"x-slack-request-timestamp"].isdigit() or len(values[b"x-slack-request-timestamp"]) > 12:
        return 401
    try:
        body.decode()
    except UnicodeDecodeError:
        return 400
    return None


def _replay(body: bytes) -> Receive:
    events = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Mapping[str, Any]:
        return next(events, {"type": "http.disconnect"})

    return receive
