"""The bot's ASGI application: passes each path to its handler, Slack's requests to Bolt."""

from __future__ import annotations

import asyncio
import html
import json
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog
from prometheus_client import generate_latest
from slack_bolt.async_app import AsyncApp, AsyncBoltRequest
from slack_sdk.signature import SignatureVerifier

from bot.cards import PATH, CardSettings, about, answer_link
from bot.http.readiness import ReadinessProbe
from bot.http.webhook import BodyReader, Receive, Refused, Scope, Send, WebhookReceiver, answer, read_header
from bot.telemetry import metrics
from shared.domain.alert import Alert
from shared.domain.reply_states import State
from shared.domain.wall_clock import moment
from shared.frozen import frozen
from shared.records import RecordsUnavailable
from shared.store import Store
from shared.text.formats import show_span

WEBHOOKS = "/webhooks/outreach"
SLACK = "/slack/events"
DETAILS = "outreach.details"
PAGES = frozenset({"/healthz", "/readyz", "/metrics"})
READ, WRITE = frozenset({"GET", "HEAD"}), frozenset({"POST"})

CLICK_WITHIN_SECONDS, LOOK_SECONDS = 1.5, 0.1
"""A visit waits so long for its click, which comes by way of Slack's servers, and looks so often."""
MOST_WAITING = 50
"""Visits that wait at once; the others are answered as the reply stands."""
_PRIVATE = (
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-robots-tag", b"noindex, nofollow"),
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"),
)
_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><title>{title}</title>
<style>body{{font:18px/1.5 system-ui,sans-serif;max-width:30em;margin:3em auto;padding:0 1em;color:#1d1c1d}}
a{{display:inline-block;padding:.5em 1em;border:1px solid #888;border-radius:.4em;color:inherit}}
@media (prefers-color-scheme:dark){{body{{background:#1a1d21;color:#e8e8e8}}}}</style>
<h1>{title}</h1><p>{text}</p><p><a href="{link}">{label}</a></p></html>
"""

Application = Callable[[Any, Any, Any], Awaitable[None]]

log = structlog.get_logger("web")


@frozen
class AsgiApp:
    """Routes by path; a failure of ours is 500 without a word about its cause."""

    receiver: WebhookReceiver
    slack: Application | None
    replies: Application
    default_workspace: str
    probe: ReadinessProbe
    details_apart: bool
    """What names workspaces and channels is on an address of its own, where nothing else is."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        handle, methods = self._route(scope["path"], on_details=DETAILS in scope)
        if handle is None:
            await answer(send, 404)
        elif scope["method"] not in methods:
            await answer(send, 405)
        else:
            try:
                await handle(scope, receive, send)
            except Refused as refused:
                await answer(send, refused.status)
            except RecordsUnavailable:
                await answer(send, 503)

    def _route(self, path: str, *, on_details: bool) -> tuple[Application | None, Collection[str]]:
        """Find the handler of a path, and its methods."""
        details = on_details or not self.details_apart
        if path in PAGES and (details or path != "/metrics"):
            return partial(self._page, details=details), READ
        if on_details:
            return None, ()
        if f"{path}/".startswith(f"{WEBHOOKS}/"):
            workspace = path[len(WEBHOOKS) :].strip("/") or self.default_workspace
            return partial(self.receiver, workspace=workspace), WRITE
        if path == SLACK:
            return self.slack, WRITE
        return (self.replies if path.startswith(PATH) else None), READ

    async def _page(self, scope: Scope, _receive: Receive, send: Send, *, details: bool) -> None:
        if scope["path"] == "/healthz":
            await answer(send, 200, b"ok\n")
        elif scope["path"] == "/readyz":
            ready, state = await self.probe.readiness()
            await _answer_ready(send, {"ready": ready, **(state if details else {})})
        else:
            await self.probe.update_gauges()
            body = generate_latest(metrics.REGISTRY)
            await answer(send, 200, body, content_type=b"text/plain; version=0.0.4; charset=utf-8")


async def _answer_ready(send: Send, state: Mapping[str, Any]) -> None:
    body = json.dumps(state, default=str).encode()
    await answer(send, 200 if state["ready"] else 503, body, content_type=b"application/json")


async def unavailable(scope: Scope, _receive: Receive, send: Send) -> None:
    """Answer while the database is not there yet: alive, and not ready for anything."""
    if scope["path"] == "/healthz":
        await answer(send, 200, b"ok\n")
    elif scope["path"] == "/readyz":
        await _answer_ready(send, {"ready": False, "database": "waiting for the database"})
    else:
        await answer(send, 503)


class CurrentApplication:
    """Hands requests to the application that is running; while it is exchanged, they wait."""

    def __init__(self) -> None:
        self._application: Application = unavailable
        self._open, self._active = asyncio.Event(), set[asyncio.Task[Any] | None]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._open.wait()
        task = asyncio.current_task()
        self._active.add(task)
        try:
            await self._application(scope, receive, send)
        finally:
            self._active.discard(task)

    async def details(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer on the address for metrics: with details, and nothing else."""
        await self({**scope, DETAILS: True}, receive, send)

    def open(self, application: Application) -> None:
        self._application = application
        self._open.set()

    async def close(self, seconds: float) -> None:
        """Hold new requests, and let those under way end, within a bound."""
        self._open.clear()
        if under_way := [task for task in self._active if task]:
            await asyncio.wait(under_way, timeout=seconds)


class SlackRequests:
    """`POST /slack/events`: rejects what is malformed or isn't signed by Slack, and hands the rest to Bolt.

    Nothing behind it checks a signature.

    Bolt parses the body before it looks at the signature; the SDK's verifier raises on a timestamp that isn't a number
    and on a body or header that isn't text; the last of duplicate headers would win, and the body has no size limit.
    What is signed may still be odd: Bolt raises over a body that isn't an object, and the listeners over odd parts of one.
    """

    def __init__(self, bolt: AsyncApp, *, signing_secret: str, bodies: BodyReader) -> None:
        self._bolt, self._bodies = bolt, bodies
        self._verifier = SignatureVerifier(signing_secret)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        timestamp = read_header(scope, b"x-slack-request-timestamp")
        signature = read_header(scope, b"x-slack-signature")
        if not (signature and timestamp.isdigit() and len(timestamp) <= 12):
            raise Refused(401)
        body = await self._bodies.read(scope, receive)
        try:
            if not self._verifier.is_valid(body, timestamp, signature):
                return await answer(send, 401)
            kind = read_header(scope, b"content-type")
            request = AsyncBoltRequest(body=body.decode(), headers={"content-type": kind})
            # Bolt looks into an event before the listeners do, and would answer 500 to one that isn't an object.
            request.body.get("event", {}).get("type")
            done = await self._bolt.async_dispatch(request)
        except Exception as error:  # Bolt stumbles over odd shapes in many ways
            log.warning("request not understood", error=type(error).__name__, exc_info=error)
            raise Refused(400) from None
        kind = done.headers["content-type"][0]
        return await answer(send, done.status, done.body.encode(), content_type=kind.encode())


@dataclass(kw_only=True)
class ReplyPage:
    """`GET /reply/{token}`: sends the person who clicked `Claim & reply` to their mail program.

    A visit claims nothing: the click does, which Slack sends to the bot beside it, and only the next visit after a click
    of the person who has the reply goes on at once. So a preview, a crawler or a colleague's visit changes nothing that
    people see; where a colleague has the reply already, the page says so first.
    `now` is the store's clock, in Unix seconds.
    """

    store: Store
    cards: CardSettings
    now: Callable[[], float]
    _waiting: int = 0

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        """Answer a GET, or a HEAD, which waits for nothing and uses up nothing."""
        token = scope["path"].removeprefix(PATH)
        name = self.cards.read_token(token, now=self.now())
        if not name:
            return await answer(send, 404)
        is_expected = scope["method"] == "GET" and await self._is_expected(name)
        alert = await self.store.alerts.find(name)
        link = answer_link(alert.event) if alert else ""
        if alert is None or not link:  # it was forgotten, or its text was deleted
            return await answer(send, 404)
        if is_expected or alert.state in {State.UNCLAIMED, State.SNOOZED}:
            return await answer(send, 302, headers=((b"location", link.encode()), *_PRIVATE))
        body = _page(alert, link, now=self.now())
        return await answer(
            send, 200, body.encode(), content_type=b"text/html; charset=utf-8", headers=_PRIVATE
        )

    async def _is_expected(self, name: str) -> bool:
        """True if the person who has the reply has just clicked; waits for a click that is under way."""
        deadline = time.monotonic() + CLICK_WITHIN_SECONDS
        while (alert := await self.store.alerts.find(name)) is not None and alert.state is not State.DONE:
            if alert.mail_until is not None and alert.mail_until > self.now():
                return await self.store.alerts.take_visit(alert.id)
            if time.monotonic() >= deadline or self._waiting >= MOST_WAITING:
                return False
            self._waiting += 1
            try:
                await asyncio.sleep(LOOK_SECONDS)
            finally:
                self._waiting -= 1
        return False


def _page(alert: Alert, link: str, *, now: float) -> str:
    """The page for a visitor where someone has the reply, or it is done."""
    if alert.handled_at is not None:
        person, did, at = alert.handled_name, "marked it done", alert.handled_at
        title = f"@{person} is done with this reply"
    else:
        person, did, at = alert.claimed_name, "claimed it", alert.claimed_at or now
        title = f"@{person} has this reply"
    ago = show_span(moment(now) - moment(min(at, now)))
    text = f"{about(alert.event)} replied, and @{person} {did} {ago} ago. If that is you, or you agreed on it, go on."
    shown = {"title": title, "text": text, "link": link, "label": "Write the email"}
    return _PAGE.format(**{name: html.escape(value) for name, value in shown.items()})
