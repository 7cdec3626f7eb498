"""Socket Mode: one connection, and the task that keeps it open.

The SDK's client keeps its own connection alive only as long as its HTTP session lives, connects again inside its
own tasks, and knows no way to say that it gave up. So each connection here is a client that never reconnects:
when it is lost, silent, or asked to close, it reports that, and the supervisor opens another before it closes the old one.
Taking deliveries never depends on any of it.

Source: docs.slack.dev/apis/events-api/using-socket-mode.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator, Mapping
from typing import Any

import aiohttp
import structlog
from slack_bolt.adapter.socket_mode.async_internals import run_async_bolt_app, send_async_response
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackClientError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.web_api import SDK_LOG, SlackError, WebApi
from shared.api.transport import describe_network_error

log = structlog.get_logger("socket_mode")

ASKED, SILENT, CUT = "Slack requested a reconnect", "no response to pings", "cut"
PING_SECONDS = 5.0
"""Seconds between two pings; four unanswered ones are silence."""
CONNECT_SECONDS, CLOSE_SECONDS = 10.0, 3.0
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 1.0, 30.0
"""Seconds between vain attempts to connect: at first, and at most."""


class Connection(SocketModeClient):
    """One connection that ends instead of reconnecting; `ended` is set when it is no longer usable."""

    def __init__(self, app_token: str, web_client: AsyncWebClient) -> None:
        super().__init__(app_token, logger=SDK_LOG, web_client=web_client, ping_interval=PING_SECONDS)
        self.proxy = web_client.proxy  # the SDK's own choice ignores NO_PROXY
        self.ended, self.idle = asyncio.Event(), asyncio.Event()
        self.idle.set()
        self._unanswered = 0
        self.end = ""
        """The reason why it is of no use any more."""

    async def connect_to_new_endpoint(self, force: bool = False) -> None:  # noqa: FBT001, FBT002 # the SDK's signature
        """Called by the SDK when it finds the connection closed, silent, or told to disconnect (`force`)."""
        self.end = self.end or (ASKED if force else SILENT if self._is_silent() else CUT)
        self.ended.set()

    def _is_silent(self) -> bool:
        session = self.current_session
        return self.stale or (session is not None and isinstance(session.exception(), TimeoutError))

    @contextlib.contextmanager
    def answering(self) -> Iterator[None]:
        """Count an envelope until it is acknowledged: the SDK hands in several beside each other."""
        self._unanswered += 1
        self.idle.clear()
        try:
            yield
        finally:
            self._unanswered -= 1
            if not self._unanswered:
                self.idle.set()

    async def finish(self, seconds: float) -> None:
        """Let acknowledgements under way go out, then end every task that the SDK started."""
        # A cancellation in the moment in which a bounded wait ends is lost by asyncio.wait_for (Python 3.11).
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.idle.wait()
        tasks = [self.message_processor, self.current_session_monitor, self.message_receiver]
        with contextlib.suppress(aiohttp.ClientError, OSError, TimeoutError):
            # A Slack that is silent says no goodbye either; the second closing does not wait for one.
            async with asyncio.timeout(seconds):
                await self.disconnect()  # type: ignore[no-untyped-call] # the SDK leaves it bare
        with contextlib.suppress(aiohttp.ClientError, OSError):
            await self.close()  # type: ignore[no-untyped-call] # the SDK leaves it bare
        await asyncio.gather(*(task for task in tasks if task), return_exceptions=True)


class SocketMode:
    """`run` until cancelled; `state` at any time."""

    def __init__(self, app: AsyncApp, app_token: str, slack: WebApi) -> None:
        self._app, self._app_token, self._slack = app, app_token, slack
        self._connection: Connection | None = None
        self.trouble, self._last_loss = "not connected yet", ""
        """What is wrong with the connection; empty while there is one."""
        self._connections = 0

    @property
    def state(self) -> Mapping[str, Any]:
        """The state for `/readyz`; `trouble` is empty while connected.

        `last_loss` says why the connection was lost the last time, or refused since.
        """
        return {
            "connected": not self.trouble,
            "rebuilds": max(0, self._connections - 1),
            "trouble": self.trouble,
            "last_loss": self._last_loss,
        }

    async def run(self) -> None:
        """Keep one connection, whatever happens; the one before ends when the next is open, so that none is missed."""
        wait = FIRST_WAIT_SECONDS
        try:
            while True:
                old, began = self._connection, time.time()
                try:
                    self._connection = await self._connect()
                except (SlackError, SlackClientError, aiohttp.ClientError, TimeoutError, OSError) as error:
                    self._connection = None
                    self._note_loss(_reason(error))
                if old:
                    await old.finish(CLOSE_SECONDS)
                if self._connection:
                    await self._connection.ended.wait()
                    self._note_loss(self._connection.end)
                    wait = FIRST_WAIT_SECONDS
                # A connection that is cut as soon as it stands must not be asked for without a pause.
                if self._connection is None or time.time() - began < wait:
                    await asyncio.sleep(wait)
                    wait = min(LONGEST_WAIT_SECONDS, wait * 2)
        finally:
            if self._connection:
                await self._connection.finish(CLOSE_SECONDS)

    def _note_loss(self, reason: str) -> None:
        self.trouble = self._last_loss = reason
        log.warning("socket mode lost", reason=reason)

    async def _connect(self) -> Connection:
        """A connection that Slack has greeted; its tasks end with it if anything goes wrong before.

        Raises what Slack, the network or our patience say against it.
        """
        ticket = await self._slack.call(
            "apps.connections.open", seconds=CONNECT_SECONDS, token=self._app_token
        )
        connection = Connection(self._app_token, self._slack.client)
        try:
            connection.wss_uri = str(ticket["url"])
            async with asyncio.timeout(CONNECT_SECONDS):
                await self._connect_and_greet(connection)
        except BaseException:
            await connection.finish(0.0)
            raise
        self._connections += 1
        self.trouble = ""
        log.info("socket mode connected", times=self._connections)
        return connection

    async def _connect_and_greet(self, connection: Connection) -> None:
        hello = asyncio.Event()

        async def greet(_: AsyncBaseSocketModeClient, message: dict[str, Any], __: str | None) -> None:
            if message.get("type") == "hello":
                hello.set()

        connection.message_listeners.append(greet)
        connection.socket_mode_request_listeners.append(self._answer)
        await connection.connect()  # type: ignore[no-untyped-call] # the SDK leaves it bare
        await hello.wait()

    async def _answer(self, client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        """An envelope through Bolt, and its acknowledgement back on the connection that it came by."""
        assert isinstance(client, Connection)
        with client.answering():
            response = await run_async_bolt_app(self._app, request)
            await send_async_response(client, request, response, time.time())


def _reason(error: BaseException) -> str:
    if isinstance(error, SlackError) and error.status:
        return f"refused: {error.code}"
    return f"can't be reached: {getattr(error, 'code', '') or describe_network_error(error)}"
