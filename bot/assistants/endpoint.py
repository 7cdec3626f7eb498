"""`POST /mcp`: who asks is established before the protocol sees a byte.

Slack's assistant signs each request like a slash command, and names the person in `params._meta.slack`
(https://docs.slack.dev/ai/slackbot-mcp-client); other assistants send a token. A signed request without a person can
list the tools, and call none.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
from typing import Any

import structlog
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from slack_sdk.signature import SignatureVerifier

from bot.assistants.protocol import SESSION, build_server, session_of_request
from bot.assistants.sessions import AssistantSessions
from bot.http.slack_guard import signed_headers
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
from shared.assistants.session import AssistantSession
from shared.records.records import RecordsUnavailable
from shared.text.slack_ids import TEAM

LARGEST_BODY = 64 * 1024
MOST_OPEN = 256
"""Requests under way; further ones are told to come again."""
REQUEST_SECONDS = 60.0
"""For a request with its answer: a client that never reads is cut off."""
REMEMBERED_SECONDS = 600.0
"""Twice the window in which a signature counts, so that no clock of Slack's is ahead of it."""

log = structlog.get_logger("assistants")


class AssistantEndpoint:
    """Serves `/mcp` while `run` runs."""

    def __init__(
        self,
        sessions: AssistantSessions,
        *,
        signing_secret: str | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sessions = sessions
        self._verifier = SignatureVerifier(signing_secret) if signing_secret else None
        self._bodies = BodyReader(limit=LARGEST_BODY)
        self._manager: StreamableHTTPSessionManager | None = None
        self._seen, self._clock = OrderedDict[str, float](), clock
        self.open = 0
        """Requests under way."""

    @property
    def is_running(self) -> bool:
        return self._manager is not None

    async def run(self) -> None:
        """Keep the SDK's tasks, until cancelled."""
        manager = StreamableHTTPSessionManager(
            build_server(session_of_request),
            json_response=True,
            stateless=True,
            max_request_body_size=LARGEST_BODY,
        )
        async with manager.run():
            self._manager = manager
            try:
                await asyncio.Event().wait()
            finally:
                self._manager = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            return await answer(send, 405)
        if self._manager is None or self.open >= MOST_OPEN:
            return await answer(send, 503)
        self.open += 1
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                await self._serve(scope, receive, send)
        except TimeoutError:
            log.warning("a request of an assistant was cut off")  # the server closes its connection
        finally:
            self.open -= 1

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await self._bodies.read(scope, receive)
        except (BodyTooLarge, Overloaded) as error:
            return await answer(send, 413 if isinstance(error, BodyTooLarge) else 503)
        except ClientDisconnected:
            return None
        try:
            found = await self._session(scope, body)
        except RecordsUnavailable:
            return await answer(send, 503)
        if isinstance(found, int):
            return await answer(send, found)
        assert self._manager is not None
        serving = self._manager.handle_request({**scope, SESSION: found}, _replay(body), send)
        return await _until_left(serving, receive)

    async def _session(self, scope: Scope, body: bytes) -> AssistantSession | int | None:
        """The session of the one who asks, the status of a refusal, or None for Slack itself."""
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        if given:
            kind, _, secret = given[0].decode("latin-1").partition(" ")
            if len(given) > 1 or kind.lower() != "bearer":
                return 401
            return await self._sessions.of_token(secret.strip()) or 401
        return await self._of_slack(scope, body)

    async def _of_slack(self, scope: Scope, body: bytes) -> AssistantSession | int | None:
        headers = signed_headers(scope["headers"])
        if headers is None or not self._is_signed(body, headers):
            return 401
        person = person_of(body)
        if isinstance(person, int):
            return person
        if person is None:
            return None
        if self._is_repeated(headers[1]):
            return 401
        return await self._sessions.of_slack(*person) or 403

    def _is_signed(self, body: bytes, headers: tuple[str, str]) -> bool:
        try:
            return self._verifier is not None and self._verifier.is_valid(body, *headers)
        except UnicodeDecodeError:
            return False

    def _is_repeated(self, signature: str) -> bool:
        """Whether this very request came before: its answer is for the one who signed it, not for who recorded it."""
        now = self._clock()
        while self._seen and next(iter(self._seen.values())) < now - REMEMBERED_SECONDS:
            self._seen.popitem(last=False)
        if signature in self._seen:
            return True
        self._seen[signature] = now
        return False


def person_of(body: bytes) -> tuple[str, str] | int | None:
    """The team and the user that a request names; None where it names nobody, 400 where it is no request."""
    try:
        request = json.loads(body)
    except (ValueError, RecursionError):
        return 400
    if not isinstance(request, dict):
        return 400
    slack: Any = request
    for name in ("params", "_meta", "slack"):
        slack = slack.get(name) if isinstance(slack, dict) else None
    if slack is None:
        return None
    team, user = (slack.get(name) for name in ("team_id", "user_id")) if isinstance(slack, dict) else ("", "")
    if not (isinstance(team, str) and isinstance(user, str)):
        return 400  # also of an organization whose workspace isn't named: it could be any
    if not (re.fullmatch(TEAM, team) and re.fullmatch(r"[UW][A-Z0-9]{1,30}", user)):
        return 400
    return team, user


async def _until_left(serving: Coroutine[Any, Any, None], receive: Receive) -> None:
    """Serve, and stop as soon as the client has gone."""
    task = asyncio.create_task(serving)
    leaving = asyncio.create_task(_left(receive))
    try:
        await asyncio.wait({task, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        leaving.cancel()
        if not task.done():
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _replay(body: bytes) -> Callable[[], Awaitable[MutableMapping[str, Any]]]:
    events = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> MutableMapping[str, Any]:
        for event in events:
            return event
        return await asyncio.Future()  # whether the client is still there is watched beside it

    return receive
