"""Guards `/slack/events`: rejects malformed requests before they reach Bolt.

Bolt parses the body before it looks at the signature; the SDK's verifier raises on a timestamp that isn't a number
and on a body or header that isn't text; the last of duplicate headers would win, and the body has no size limit.
What is signed may still be odd: where a part that Bolt or the listeners read is missing or has another type, the request
is refused as a whole.

https://docs.slack.dev/reference/interaction-payloads, https://docs.slack.dev/apis/events-api,
https://docs.slack.dev/interactivity/implementing-slash-commands
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Annotated, Any

import structlog
from pydantic import BaseModel, Field
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
            content_type = types[-1].partition(";")[0].strip() if types else ""
            check_shape(parse_body(body.decode(), content_type))
        except ClientDisconnected:
            return None
        except (BodyTooLarge, Overloaded, ValueError, RecursionError) as error:
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


Text = str | None
Object = dict[str, Any] | None
Blocks = list[dict[str, Any]] | None


class _Place(BaseModel):
    """A channel, a team or an organization."""

    id: Text = None
    name: Text = None
    enterprise_id: Text = None


class _User(BaseModel):
    id: str
    username: Text = None
    team_id: Text = None


class _Option(BaseModel):
    value: Text = None


class _Action(BaseModel):
    """An act of a person on one element."""

    action_id: str
    block_id: Text = None
    type: Text = None
    value: Text = None
    selected_option: _Option | None = None
    selected_user: Text = None
    selected_date_time: int | None = None


class _State(BaseModel):
    values: dict[str, dict[str, dict[str, Any]]] = {}


class _View(BaseModel):
    id: Text = None
    type: Text = None
    callback_id: Text = None
    private_metadata: Text = None
    hash: Text = None
    blocks: Blocks = None
    state: _State | None = None


class _Message(BaseModel):
    """A message, or the container of what was clicked."""

    ts: Text = None
    text: Text = None
    thread_ts: Text = None
    message_ts: Text = None
    channel_id: Text = None
    view_id: Text = None
    blocks: Blocks = None
    metadata: Object = None


class _Request(BaseModel):
    """The parts that all requests may have."""

    team_id: Text = None
    enterprise_id: Text = None
    response_url: Text = None
    trigger_id: Text = None
    is_enterprise_install: bool | str | None = None
    enterprise: _Place | None = None
    team: _Place | None = None
    channel: _Place | None = None
    view: _View | None = None
    container: _Message | None = None
    message: _Message | None = None
    state: _State | None = None


class _Command(_Request):
    command: str
    user_id: str
    user_name: Text = None
    channel_id: Text = None
    channel_name: Text = None
    text: Text = None


class _Interaction(_Request):
    user: _User


class _Click(_Interaction):
    actions: Annotated[list[_Action], Field(min_length=1)]


class _FormView(_View):
    callback_id: str


class _Form(_Interaction):
    view: _FormView


class _Shortcut(_Interaction):
    callback_id: str


class _Choices(_Interaction):
    """The question of an external select while a person types."""

    action_id: str
    block_id: Text = None
    value: Text = None


class _Event(BaseModel):
    type: str
    subtype: Text = None
    channel: str | _Place | None = None
    channel_type: Text = None
    old_channel_id: Text = None
    new_channel_id: Text = None
    user: str | _User | None = None
    inviter: Text = None
    bot_id: Text = None
    team: Text = None
    user_team: Text = None
    source_team: Text = None
    text: Text = None
    ts: Text = None
    thread_ts: Text = None
    tab: Text = None
    view: _View | None = None
    tokens: Object = None


class _Happened(_Request):
    event: _Event
    event_id: Text = None
    authorizations: list[_Request] | None = None


class _Handshake(_Request):
    """Slack asks whether the address is the app's own."""

    challenge: str


_KINDS: Mapping[Any, type[_Request]] = {
    "block_actions": _Click,
    "view_submission": _Form,
    "view_closed": _Form,
    "shortcut": _Shortcut,
    "message_action": _Shortcut,
    "block_suggestion": _Choices,
    "event_callback": _Happened,
    "url_verification": _Handshake,
}


def check_shape(body: Any) -> None:
    """Raise `ValueError` where a request has not the shape of its kind, or is of none."""
    if not isinstance(body, dict):
        raise ValueError("no object")  # noqa: TRY004 # it is the sender's, as all others
    kind = body.get("type")
    if kind is None and "ssl_check" in body:
        return
    shape = _Command if "command" in body else _KINDS.get(kind) if isinstance(kind, str) else None
    if shape is None:
        raise ValueError("no kind of request")
    shape.model_validate(body)
