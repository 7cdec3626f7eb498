"""Sends one request with httpx, and returns its response or the matching error. The only module that uses httpx.

Separate from the client, because whether a request was sent, or its outcome is uncertain, depends only on how httpx
fails.
"""

from __future__ import annotations

import asyncio
import platform
import socket
import ssl
import time
import zlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from http.cookiejar import CookieJar
from typing import Any

import httpx

from .errors import NoResponse, OutreachError, Uncertain, Unreachable, Unreadable
from .messages import Reply, Request, plain
from .version import VERSION

LARGEST_ANSWER_BYTES = 10 * 10**6
"""Unpacked; more is refused while it comes."""
LONGEST_CONNECTING_SECONDS = 3.0
"""A machine that is there answers a knock within one, and once more where a packet was lost."""
_WORDS: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str], ...] = (
    (TimeoutError, "it timed out"),
    (ssl.SSLCertVerificationError, "the TLS certificate is not valid"),
    (ssl.SSLError, "the TLS handshake failed"),
    (socket.gaierror, "the host name can't be resolved"),
    (ConnectionRefusedError, "connection refused"),
    ((ConnectionResetError, BrokenPipeError), "the connection was lost"),
)
ENCODING = "gzip"
GZIP_WINDOW = 16 + zlib.MAX_WBITS
"""The format of gzip, as zlib.h names it."""
PUNCTUAL_SECONDS = 0.005
"""A request that goes within so many seconds of its turn is in time."""

NOT_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)

Transport = httpx.AsyncBaseTransport
"""Carries requests in place of the client's own connections."""


class Http:
    """Exchanges with one service and one key, and nothing of their meaning."""

    def __init__(self, base_url: str, *, api_key: str, transport: Transport | None) -> None:
        self._key, self._base_url = api_key, base_url
        agent = f"outreach-ops/{VERSION} python/{platform.python_version()} httpx/{httpx.__version__}"
        self._client = httpx.AsyncClient(
            headers={
                "Authorization": f"Bearer {api_key}",
                "Accept": "application/json",
                "Accept-Encoding": ENCODING,
                "User-Agent": agent,
            },
            # Another host must not get the key.
            follow_redirects=False,
            cookies=_NoCookies(),
            transport=transport,
            verify=_tls(),
            # Servers commonly drop idle connections after 5 s; a request on one of those would be uncertain.
            limits=httpx.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=4.0),
        )
        self.aclose = self._client.aclose

    async def exchange(
        self,
        request: Request,
        *,
        deadline: float,
        timeout: float,  # noqa: ASYNC109 -- of a silence, which only httpx can see
        late: Callable[[float], Awaitable[None]],
    ) -> Reply:
        """Send, and read the answer, whatever its status.

        `deadline` is a reading of `time.monotonic()`; `timeout` bounds one silence, in seconds; `late` is awaited, with
        the seconds since the turn, when the request is about to go later than at once.
        """
        left = deadline - time.monotonic()
        if left <= 0:
            raise Unreachable("The time allowed ran out before the request was sent.")
        sending = _Sending(late)
        outgoing = self._client.build_request(
            request.method,
            f"{self._base_url}{request.path}",
            params=request.query or None,
            content=request.body,
            headers={"Content-Type": "application/json"} if request.body else {},
            extensions={"trace": sending},
            timeout=httpx.Timeout(timeout, connect=min(timeout, LONGEST_CONNECTING_SECONDS)),
        )
        try:
            async with asyncio.timeout(left):
                response = await self._client.send(outgoing, stream=True)
                try:
                    body = await _read(response)
                finally:
                    await response.aclose()
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
            was_sent = sending.was_sent and not isinstance(error, NOT_SENT)
            raise _broken_off(request, error, was_sent=was_sent) from None
        # A service that quotes the key in an error must not bring it into a log.
        key, hidden = self._key, "[key]"
        headers = {name.lower(): value.replace(key, hidden) for name, value in response.headers.items()}
        body = body.replace(key.encode(), hidden.encode())
        return Reply(status=response.status_code, headers=headers, body=body)


@dataclass(slots=True)
class _Sending:
    """The listener of httpx's trace hook: lets a request go only in time, and knows whether it went.

    Opening a connection may outlast the turn; the others are told so before a byte of the request goes.
    """

    late: Callable[[float], Awaitable[None]]
    turn_at: float = field(default_factory=time.monotonic)
    is_traced: bool = False
    has_begun: bool = False

    @property
    def was_sent(self) -> bool:
        """Return True if anything of it may have gone; a transport that does not tell counts as one that sent."""
        return self.has_begun or not self.is_traced

    async def __call__(self, name: str, _info: Mapping[str, Any]) -> None:
        self.is_traced = True
        if name.endswith("send_request_headers.started"):
            late = time.monotonic() - self.turn_at
            if late > PUNCTUAL_SECONDS:
                await self.late(late)
            self.has_begun = True


class _NoCookies(CookieJar):
    """Keeps no cookie, so none is sent back, and reads none: some dates in them raise errors."""

    def extract_cookies(self, *_: object) -> None:
        """Ignore them."""


@cache
def _tls() -> ssl.SSLContext:
    """One for all clients: reading the certificates takes longer than a request."""
    return httpx.create_ssl_context()


async def _read(response: httpx.Response) -> bytes:
    """The body, up to the limit; one in an encoding that wasn't asked for stays packed, and can't be read."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if response.is_stream_consumed:  # of a transport in place of connections: it has been unpacked
        return response.content
    most, body = LARGEST_ANSWER_BYTES, bytearray()
    # Not by httpx, which would unpack a whole chunk at once: 32 KB of gzip can hold 32 MB.
    unpacking = zlib.decompressobj(wbits=GZIP_WINDOW) if encoding == ENCODING else None
    async for chunk in response.aiter_raw():
        try:
            body += unpacking.decompress(chunk, most + 1 - len(body)) if unpacking else chunk
        except zlib.error as error:
            raise httpx.DecodingError(str(error)) from error
        if len(body) > most:
            message = f"returned more than {most // 10**6} MB, which was not read."
            # Another hint than usual: a `[fields]` line would change nothing.
            hint = "Tell the service's support: no setting helps."
            raise Unreadable(message, hint=hint)
    return bytes(body)


def _broken_off(request: Request, error: Exception, *, was_sent: bool) -> OutreachError:
    if not was_sent:
        return Unreachable(cause=cause(error))
    if not request.reads:
        return Uncertain(cause=cause(error))
    if isinstance(error, (httpx.TimeoutException, TimeoutError)):
        return NoResponse()
    return Unreachable("The connection was lost before a response arrived.", cause=cause(error))


def cause(error: Exception) -> str:
    """The cause of a failed connection as a sentence, in words where the system's error is known."""
    text = plain(str(error)).rstrip(".") or type(error).__name__
    return f"Cause: {describe_network_error(error, default=text)}."


def describe_network_error(error: BaseException, *, default: str = "the connection failed") -> str:
    """Describe the failure in words: by the error itself, or by one that led to it."""
    earlier: BaseException | None = error
    while earlier is not None:
        for kinds, words in _WORDS:
            if isinstance(earlier, kinds):
                return words
        earlier = getattr(earlier, "os_error", None) or earlier.__cause__ or earlier.__context__
    return default
