"""Guards `/slack/events`: rejects malformed requests before they reach Bolt.

Bolt parses the body before it looks at the signature; the SDK's verifier raises on a timestamp that isn't a number
and on a body or header that isn't text; the last of duplicate headers would win, and the body has no size limit.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import structlog
from slack_bolt.request.internals import parse_body
from slack_sdk.signature import SignatureVerifier

from bot.http.slack_shapes import check_shape
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
        except (BodyTooLarge, Overloaded) as error:
            return await answer(send, 413 if isinstance(error, BodyTooLarge) else 503)
        except ClientDisconnected:
            return None
        status = self.refusal(headers, body)
        if status is None and not is_readable(body, content_type=_content_type(scope["headers"])):
            status = 400
        if status:
            return await answer(send, status)
        try:
            return await self._application(scope, _replay(body), send)
        except Exception as error:  # Bolt stumbles over odd shapes before it begins to answer
            log.warning("request not understood", error=type(error).__name__, exc_info=error)
            return await answer(send, 400)

    def refusal(self, headers: tuple[str, str], body: bytes) -> int | None:
        """The status that answers a request that Slack did not sign; None: it may pass."""
        try:
            signed = self._verifier.is_valid(body, *headers)
        except UnicodeDecodeError:
            return 400
        return None if signed else 401


def signed_headers(headers: Iterable[tuple[bytes, bytes]]) -> tuple[str, str] | None:
    """Timestamp and signature; None when one is missing, there twice, or not of the right form."""
    found = [(name, value) for name, value in headers if name in _SIGNED]
    if sorted(name for name, _ in found) != sorted(_SIGNED):
        return None
    values = dict(found)
    timestamp, signature = values[b"x-slack-request-timestamp"], values[b"x-slack-signature"]
    if not timestamp.isdigit() or len(timestamp) > 12 or not signature.isascii():
        return None
    return timestamp.decode(), signature.decode()


def is_readable(body: bytes, *, content_type: str) -> bool:
    """Whether the parts that are read have their type: Bolt answers others with 500."""
    try:
        read: Any = parse_body(body.decode(), content_type)
        if not isinstance(read, dict):
            return False
        check_shape(read)
    except (ValueError, RecursionError):
        return False
    return True


def _content_type(headers: Iterable[tuple[bytes, bytes]]) -> str:
    found = [value.decode("latin-1") for name, value in headers if name == b"content-type"]
    return found[-1].partition(";")[0].strip() if found else ""


def _replay(body: bytes) -> Receive:
    events = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Mapping[str, Any]:
        return next(events, {"type": "http.disconnect"})

    return receive
