"""The forms. Pure; `bot.interactions.form_input` reads the submitted values.

A form makes the arguments that a person could have typed, so both go through one role check and one audit. Limits: Slack's reference of views and block elements.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.blockkit import card_blocks, plainer
from bot.blockkit.elements import LABEL, OPTION_VALUE, Block, cut, plain
from shared.api.event_kinds import EVENTS
from shared.api.models import Sequence as Campaign
from shared.commands.base import ALIASES
from shared.domain.card import Card
from shared.text.sanitize import visible

FORM = "form"
"""Begins the `callback_id` of a form; the command follows."""
ANSWER = "answer"
"""The `callback_id` of a modal that only shows something."""
OPTIONS, BLOCK_ID = 100, 255
SEQUENCE, WORKSPACE = "sequence", "workspace"
View = dict[str, Any]

_LENGTHS = (
    ("", "Until someone resumes it"),
    ("1h", "1 hour"),
    ("4h", "4 hours"),
    ("1d", "1 day"),
    ("3d", "3 days"),
    ("1w", "1 week"),
)
_TITLES = {
    "pause": "Pause a sequence",
    "subscribe": "Subscribe a channel",
    "add": "Add a lead",
}
_SUBMIT = {
    "pause": "Pause",
    "subscribe": "Subscribe",
    "add": "Add",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FormRequest:
    """The channel and workspace of a form; stored in the form."""

    channel: str = ""
    workspace: str = ""
    workspaces: Sequence[str] = ()
    """The choices; empty if there is only one."""


def form_view(verb: str, request: FormRequest) -> View:
    """The empty form of a command."""
    blocks = _BLOCKS[verb](request)
    return {
        "type": "modal",
        "callback_id": f"{FORM}:{verb}",
        "title": plain(_TITLES[verb]),
        "submit": plain(_SUBMIT[verb]),
        "close": plain("Cancel"),
        "private_metadata": json.dumps({"channel": request.channel, WORKSPACE: request.workspace}),
        "blocks": [*_workspaces(request), *blocks],
    }


def verb_of(view: Mapping[str, Any]) -> str:
    verb = str(view.get("callback_id") or "").removeprefix(f"{FORM}:")
    verb = ALIASES.get(verb, verb)
    return verb if verb in _TITLES else ""


def _workspaces(request: FormRequest) -> list[Block]:
    """Another choice updates the form with its sequences."""
    if not request.workspaces:
        return []
    names = [name for name in request.workspaces if len(name) <= OPTION_VALUE][:OPTIONS]
    if request.workspace not in names:
        names[-1:] = [request.workspace]
    offered = [_option(name, name) for name in names]
    element = {
        "type": "static_select",
        "action_id": WORKSPACE,
        "options": offered,
        "initial_option": _option(request.workspace, request.workspace),
    }
    return [_input(WORKSPACE, "Outreach workspace", element) | {"dispatch_action": True}]


def answer_view(card: Card, *, items: Sequence[Card] = (), channel: str = "") -> View:
    """A modal that shows an answer; its buttons run as they do in a message."""
    return {
        "type": "modal",
        "callback_id": ANSWER,
        "title": plain("Outreach"),
        "close": plain("Close"),
        "private_metadata": json.dumps({"channel": channel}),
        "blocks": card_blocks.render_view(card, items=items),
    }


def ack_view(card: Card, *, channel: str = "") -> View:
    """A view for an acknowledgement, of text only, because Slack reports a rejection there only to the person.

    https://docs.slack.dev/surfaces/modals#updating_response
    """
    return plainer.plain_view(answer_view(card, channel=channel))


def channel_of(view: Mapping[str, Any]) -> str:
    return _metadata(view, "channel")


def workspace_of(view: Mapping[str, Any]) -> str:
    return _metadata(view, WORKSPACE)


def _metadata(view: Mapping[str, Any], name: str) -> str:
    try:
        metadata = json.loads(view.get("private_metadata") or "{}")
    except ValueError:
        return ""
    return str(metadata.get(name) or "") if isinstance(metadata, dict) else ""


def _pause(request: FormRequest) -> list[Block]:
    lengths = [_option(label, value or "none") for value, label in _LENGTHS]
    return [
        _sequence_menu("Sequence", request),
        _input(
            "length",
            "For how long",
            {
                "type": "static_select",
                "action_id": "length",
                "options": lengths,
                "initial_option": lengths[0],
            },
        ),
        _input("reason", "Reason", _line(300, hint="Shown in the channel"), optional=True),
    ]


def _subscribe(request: FormRequest) -> list[Block]:
    channel = request.channel
    kinds = [_option(kind.label, kind.name) for kind in EVENTS.values()]
    forms = [_option("One card per event", "full"), _option("One line per event", "condensed")]
    return [
        _input("events", "Events", {"type": "checkboxes", "action_id": "events", "options": kinds}),
        _input(
            "channel",
            "Channel",
            {
                "type": "conversations_select",
                "action_id": "channel",
                "placeholder": plain("Choose a channel"),
                **({"initial_conversation": channel} if channel[:1] in {"C", "G"} else {}),
                "filter": {"include": ["public", "private"], "exclude_bot_users": True},
            },
        ),
        _sequence_menu("Only for this sequence", request, optional=True),
        _input("inbox", "Only for this inbox or domain", _line(250), optional=True),
        _input(
            "form",
            "How",
            {"type": "radio_buttons", "action_id": "form", "options": forms, "initial_option": forms[0]},
        ),
    ]


def _add(request: FormRequest) -> list[Block]:
    return [
        _input("email", "Email", _line(254)),
        _sequence_menu("Sequence", request),
        _input("first_name", "First name", _line(100), optional=True),
        _input("last_name", "Last name", _line(100), optional=True),
        _input("company", "Company", _line(100), optional=True),
        _input(
            "more",
            "Other fields",
            _line(1_000, hint="plan=pro city=Oslo") | {"multiline": True},
            optional=True,
        ),
    ]


_BLOCKS: Mapping[str, Callable[[FormRequest], list[Block]]] = {
    "pause": _pause,
    "subscribe": _subscribe,
    "add": _add,
}


def _select(name: str, offered: list[dict[str, Any]], *, first: int = 0) -> dict[str, Any]:
    chosen = offered[first]
    return {"type": "static_select", "action_id": name, "options": offered, "initial_option": chosen}


def _sequence_menu(label: str, request: FormRequest, *, optional: bool = False) -> Block:
    """Loaded from the bot while a person types, since there may be more sequences than a menu can hold.

    The block is another one in another workspace: Slack keeps what was chosen in a block of the same name.
    """
    element = {
        "type": "external_select",
        "action_id": SEQUENCE,
        "min_query_length": 0,
        "placeholder": plain("Start typing its name"),
    }
    name = f"{SEQUENCE}:{request.workspace}"[:BLOCK_ID] if request.workspace else SEQUENCE
    return _input(name, label, element, optional=optional)


def _line(most: int, *, hint: str = "") -> dict[str, Any]:
    element: dict[str, Any] = {"type": "plain_text_input", "action_id": "text", "max_length": most}
    return element | ({"placeholder": plain(hint)} if hint else {})


def _input(name: str, label: str, element: dict[str, Any], *, optional: bool = False) -> Block:
    return {
        "type": "input",
        "block_id": name,
        "label": plain(label),
        "element": element,
        "optional": optional,
    }


def _option(label: str, value: str) -> dict[str, Any]:
    return {"text": plain(cut(visible(label).strip(), LABEL) or "…"), "value": value}


def options(sequences: Iterable[Campaign], text: str = "") -> list[dict[str, Any]]:
    """Menu options for sequences whose name or id contains the typed text."""
    fitting = [
        one
        for one in sequences
        if text.casefold() in f"{one.label} {one.id}".casefold() and 0 < len(one.id) <= OPTION_VALUE
    ]
    return [_option(_info(one), one.id) for one in fitting[:OPTIONS]]


def _info(one: Campaign) -> str:
    status = f" · {one.status}" if one.status and one.status != "active" else ""
    return f"{cut(one.label, LABEL - len(status) - 1)}{status}"
