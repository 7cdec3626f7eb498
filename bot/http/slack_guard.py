"""Guards `/slack/events`: rejects malformed requests before they reach Bolt.

Bolt parses the body before it looks at the signature; the SDK's verifier raises on a timestamp that isn't a number
and on a body or header that isn't text; the last of duplicate headers would win, and the body has no size limit.
What is signed may still be odd: Bolt raises over a body that is no object, and the listeners over odd parts of one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import structlog
from slack_bolt.request.internals import parse_body
from slack_sdk.signature import SignatureVerifier

from bot.http.webhook import (
    BodyReader,
    BodyTooLarge,
    ClientDisconnected,
    Overloaded,
    Receive,
    Scope,
    Send,
    answer,
)

_REFUSALS: Mapping[type[Exception], int] = {BodyTooLarge: 413, Overloaded: 503}
_SIGNED = (b"x-slack-signature", b"x-slack-request-timestamp")

log = structlog.get_logger("slack")

Application = Callable[[Any, Any, Any], Awaitable[None]]


class SlackGuard:
    """Wraps Bolt's ASGI application."""

    def __init__(self, application: Application, *, signing_secret: str, bodies: BodyReader) -> None:
        self._application, self._bodies = application, bodies
        self._verifier = SignatureVerifier(signing_secret)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = signed_headers(scope["headers"])
        if headers is None:
            return await answer(send, 401)
        try:
            body = await self._bodies.read(scope, receive)
            if not self._verifier.is_valid(body, *headers):
                return await answer(send, 401)
            types = [value.decode("latin-1") for name, value in scope["headers"] if name == b"content-type"]
            parsed = parse_body(body.decode(), types[-1].partition(";")[0].strip() if types else "")
            # Bolt looks into an event before the listeners do, and would answer 500 to one that is no object.
            parsed.get("event", {}).get("type")
        except ClientDisconnected:
            return None
        except (BodyTooLarge, Overloaded, AttributeError, ValueError, RecursionError) as error:
            return await answer(send, _REFUSALS.get(type(error), 400))
        events = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def replay() -> Mapping[str, Any]:
            return next(events, {"type": "http.disconnect"})

        try:
            return await self._application(scope, replay, send)
        except Exception as error:  # Bolt stumbles over odd shapes before it begins to answer
            log.warning("request not understood", error=type(error).__name__, exc_info=error)
            return await answer(send, 400)


def signed_headers(headers: Iterable[tuple[bytes, bytes]]) -> tuple[str, str] | None:
    """Timestamp and signature; None when one is missing, there twice, or not of the right form."""
    signed = [(name, value) for name, value in headers if name in _SIGNED]
    if sorted(name for name, _ in signed) != sorted(_SIGNED):
        return None
    values = dict(signed)
    timestamp, signature = values[b"x-slack-request-timestamp"], values[b"x-slack-signature"]
    if not timestamp.isdigit() or len(timestamp) > 12 or not signature.isascii():
        return None
    return timestamp.decode(), signature.decode()
