"""Receives deliveries: raw bytes, signature, disk, 200. A plain ASGI application.

Group commit: deliveries that arrive during a commit join the next one. The 200 is sent only after the
commit; a delivery that can't be stored gets 503, and the service sends it again.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog

from bot.telemetry import metrics
from shared.api.events import PROBE_SIGNATURE, SIGNATURE_HEADER, signature_matches
from shared.records import RecordsUnavailable
from shared.settings import Settings, UnknownWorkspace
from shared.store import Store
from shared.store.deliveries import Arrival
from shared.store.webhooks import Stored, WebhookSubscriptions

MAX_BODY_BYTES = 1024 * 1024
MAX_UNVERIFIED_BYTES = 32 * 1024 * 1024
"""The bound on all bodies that are being read, beyond the first 64 KiB of each."""
SMALL_BODY_BYTES = 64 * 1024
MAX_WAITING = 5_000
BATCH = 256
QUIET_ROUNDS = 4
"""Rounds of the event loop without a newcomer after which a group is whole."""
RETRY_AFTER = 5
STORED_WITHIN = 2.5
"""Seconds until a sender gets 503; a database that hangs never responds."""
CLOSED_WITHIN = 3.0
"""Seconds that what was taken may take to be stored at the end."""

REFUSAL_LOG_SECONDS = 60.0
RELOAD_SPACING = 0.02
"""Seconds before each look into the database, however many deliveries match no secret."""
RELOAD_TIMEOUT = 1.0
FORGET_SECONDS = 5.0
"""A secret that was removed from the database still counts for so long at most."""
HEADER = SIGNATURE_HEADER.lower().encode()
Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]

Keys = tuple[str, ...]

log = structlog.get_logger("receiver")


class Refused(Exception):
    """The request is answered with this status and nothing else."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class DeliveryIntake:
    """The queue before the store; `run` owns the commits, and calls `stored` after each."""

    def __init__(self, store: Store, *, stored: Callable[[], None]) -> None:
        self._store, self._stored = store, stored
        self.count = 0
        """Deliveries stored since the start."""
        self.refused_bytes = 0
        """The size of the bodies that could not be stored last; 0 once others were."""
        self._waiting: deque[tuple[Arrival, asyncio.Future[None]]] = deque()
        self._arrived = asyncio.Event()
        metrics.INTAKE_WAITING.set_function(lambda: len(self._waiting))
        self.closed = False

    async def store(self, arrival: Arrival) -> None:
        """Return when the arrival is on disk. Raises `Refused` or `RecordsUnavailable`."""
        if self.closed or len(self._waiting) >= MAX_WAITING:
            raise Refused(503)
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((arrival, future))
        self._arrived.set()
        try:
            async with asyncio.timeout(STORED_WITHIN):
                await future
        except TimeoutError as error:
            raise RecordsUnavailable("the bot's database isn't responding") from error

    async def run(self) -> None:
        """Commit what waits, until cancelled; then everything that was taken is committed still."""
        self.closed = False
        try:
            while True:
                await self._arrived.wait()
                self._arrived.clear()
                await self._gather()
                await self._commit()
        finally:
            self.closed = True
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CLOSED_WITHIN):
                    while self._waiting:
                        await self._commit()
            _settle(self._waiting, RecordsUnavailable("the bot is stopping"))

    async def _gather(self) -> None:
        """Wait as long as others keep coming: a commit of many takes hardly longer than one of a few."""
        quiet, before = 0, 0
        while quiet < QUIET_ROUNDS and len(self._waiting) < BATCH:
            quiet = quiet + 1 if len(self._waiting) == before else 0
            before = len(self._waiting)
            await asyncio.sleep(0)

    async def _commit(self) -> None:
        first = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
        # Who waited for too long has had a 503, and sends it again.
        taken = [(arrival, future) for arrival, future in first if not future.done()]
        if self._waiting:
            self._arrived.set()
        if not taken:
            return
        try:
            await self._store.arrivals.append([arrival for arrival, _ in taken])
        except RecordsUnavailable as error:
            self.refused_bytes = sum(len(arrival.body) for arrival, _ in taken)
            _settle(taken, error)
            log.warning("deliveries not stored", deliveries=len(taken), error=str(error))
            return
        # Cut off in the middle, nobody knows whether they are stored: the service sends them again.
        except BaseException:
            _settle(taken, RecordsUnavailable("the deliveries could not be stored"))
            raise
        self.count += len(taken)
        self.refused_bytes = 0
        metrics.BATCH.observe(len(taken))
        _settle(taken, None)
        self._stored()


def _settle(taken: Iterable[tuple[Arrival, asyncio.Future[None]]], result: Exception | None) -> None:
    for _, future in taken:
        if future.done():
            continue
        if result is None:
            future.set_result(None)
        else:
            future.set_exception(result)


class WebhookSecrets:
    """The secrets for deliveries: those of the settings, and those stored by `webhooks create`.

    `known` is for every delivery; `refresh` for one that matches none, since a secret may have just been stored.
    """

    def __init__(self, settings: Settings, subscriptions: WebhookSubscriptions) -> None:
        self.settings, self._subscriptions = settings, subscriptions
        self._stored: Stored = {}
        self._problem = ""
        """The reason why none of the stored secrets can be read."""
        self._loading = asyncio.Lock()
        self._next: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Encrypt what was stored before there was a key, and read the stored secrets."""
        try:
            await self._subscriptions.encrypt_all()
        except RecordsUnavailable as error:
            log.warning("stored secrets not encrypted", error=str(error))
        await self._load()

    def known(self, workspace: str) -> Keys:
        configured = self.settings.workspaces[workspace].webhook_secrets
        own = (secret.get_secret_value() for secret in configured)
        # The newest first: after a rotation, most deliveries are signed with it.
        stored = (made.secret for made in reversed(self._stored.get(workspace, ())))
        return (*own, *filter(None, stored))

    def problem(self, workspace: str) -> str:
        problems = (made.problem for made in self._stored.get(workspace, ()))
        return next(filter(None, problems), self._problem)

    @property
    def state(self) -> str:
        """`ok`, `none`, or why stored secrets cannot be read."""
        names = tuple(self.settings.workspaces)
        problems = filter(None, map(self.problem, names))
        return "; ".join(dict.fromkeys(problems)) or ("ok" if any(map(self.known, names)) else "none")

    @property
    def missing(self) -> bool:
        return any(self.problem(name) and not self.known(name) for name in self.settings.workspaces)

    async def refresh(self) -> None:
        """Read the stored secrets again; requests that come together share one reading."""
        if self._next is None:
            self._next = asyncio.create_task(self._load_next(), name="webhook_secrets")
        await asyncio.shield(self._next)

    async def _load_next(self) -> None:
        async with self._loading:
            await asyncio.sleep(RELOAD_SPACING)
            self._next = None  # callers from here on wait for a later read
            await self._load()

    async def _load(self) -> None:
        problem = ""
        try:
            async with asyncio.timeout(RELOAD_TIMEOUT):
                self._stored = await self._subscriptions.all()
        except (RecordsUnavailable, TimeoutError) as error:
            problem = str(error) or "the bot's database isn't responding"
        if problem and problem != self._problem:
            log.warning("webhook secrets cannot be read", error=problem)
        self._problem = problem


_ANSWERS = {status: metrics.DELIVERIES.labels(str(status)) for status in (200, 400, 401, 404, 413, 503)}


@dataclass(kw_only=True)
class WebhookReceiver:
    """`POST /webhooks/outreach[/{workspace}]`; `now` is the store's clock, in Unix seconds."""

    intake: DeliveryIntake
    bodies: BodyReader
    secrets: WebhookSecrets
    now: Callable[[], float]
    _logged: dict[tuple[str, str], float] = field(default_factory=dict)
    """The time of the last log line by workspace and reason."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send, *, workspace: str) -> None:
        try:
            status = await self._accept(scope, receive, workspace)
        except Refused as refused:
            status = refused.status
        except RecordsUnavailable:
            status = 503
        _ANSWERS[status].inc()
        await answer(send, status)

    async def _accept(self, scope: Scope, receive: Receive, name: str) -> int:
        try:
            workspace = self.secrets.settings.workspace(name).name
        except UnknownWorkspace:
            return 404
        signature = read_header(scope, HEADER)
        if not signature:
            return self._refuse(workspace, "no_signature")
        body = await self.bodies.read(scope, receive)
        keys = self.secrets.known(workspace)
        if not signature_matches(body, signature, keys):
            await self.secrets.refresh()
            reloaded = self.secrets.known(workspace)
            if reloaded == keys or not signature_matches(body, signature, reloaded):
                problem = self.secrets.problem(workspace)
                if signature == PROBE_SIGNATURE:
                    # Not before the secrets were compared: a probe shows that they are.
                    return 503 if problem else 401
                reason = "wrong_signature" if reloaded else "no_secret"
                return self._refuse(workspace, reason, problem=problem)
        await self.intake.store(Arrival(workspace=workspace, body=body, at=self.now()))
        return 200

    def _refuse(self, workspace: str, reason: str, *, problem: str = "") -> int:
        """401, or 503 while a secret that might match cannot be read; logged once a minute with the reason."""
        reason = "secrets_unreadable" if problem else reason
        metrics.REFUSED.labels(workspace, reason).inc()
        now = time.monotonic()
        if now - self._logged.get((workspace, reason), -math.inf) >= REFUSAL_LOG_SECONDS:
            log.warning("delivery refused", workspace=workspace, reason=reason, error=problem or None)
            self._logged[workspace, reason] = now
        return 503 if problem else 401


def read_header(scope: Scope, name: bytes) -> str:
    """The one header of a name; empty when it is missing, there twice, or not ASCII.

    A proxy in front of the bot could believe the first of two, and the bot the other.
    """
    values = [value for other, value in scope["headers"] if other == name]
    return values[0].decode() if len(values) == 1 and values[0].isascii() else ""


class BodyReader:
    """Reads bodies whose signature is not checked yet, within one bound on all of them together."""

    def __init__(self) -> None:
        self._free = MAX_UNVERIFIED_BYTES

    async def read(self, scope: Scope, receive: Receive) -> bytes:
        """The body, given up as soon as it is over a bound. Raises `Refused`."""
        length = read_header(scope, b"content-length")
        # What is announced as too large is refused before a byte of it is read.
        if length.isdigit() and int(length) > MAX_BODY_BYTES:
            raise Refused(413)
        parts: list[bytes] = []
        size, reserved = 0, 0
        try:
            while True:
                event = await receive()
                if event["type"] == "http.disconnect":
                    raise Refused(400)  # nobody reads the answer
                parts.append(event.get("body", b""))
                size += len(parts[-1])
                if size > MAX_BODY_BYTES:
                    raise Refused(413)
                # The first 64 KiB of each are free: the number of connections bounds them.
                more = max(0, size - SMALL_BODY_BYTES) - reserved
                if more > self._free:
                    raise Refused(503)
                self._free, reserved = self._free - more, reserved + more
                if not event.get("more_body", False):
                    return b"".join(parts)
        finally:
            self._free += reserved


_RETRY = (b"retry-after", str(RETRY_AFTER).encode())


async def answer(
    send: Send,
    status: int,
    body: bytes = b"",
    *,
    content_type: bytes = b"text/plain",
    headers: Iterable[tuple[bytes, bytes]] = (),
) -> None:
    """A short answer; 503 says when to come again."""
    sent = [(b"content-type", content_type), (b"content-length", str(len(body)).encode()), *headers]
    if status == 503:
        sent.append(_RETRY)
    await send({"type": "http.response.start", "status": status, "headers": sent})
    await send({"type": "http.response.body", "body": body})
