"""The types of what Bolt and the listeners read of Slack's requests.

What is signed may still be odd: where one of these is missing or has another type, the request is refused as a whole.

https://docs.slack.dev/reference/interaction-payloads, https://docs.slack.dev/apis/events-api,
https://docs.slack.dev/interactivity/implementing-slash-commands
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, Field

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
    """What a person did to one element."""

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
    """What all requests may have."""

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
    """What an external select asks for while a person types."""

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


def check_shape(body: Mapping[str, Any]) -> None:
    """Raise `ValueError` where a request has not the shape of its kind, or is of none."""
    kind = body.get("type")
    if kind is None and "ssl_check" in body:
        return
    shape = _Command if "command" in body else _KINDS.get(kind) if isinstance(kind, str) else None
    if shape is None:
        raise ValueError("no kind of request")
    shape.model_validate(body)
