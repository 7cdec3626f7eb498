"""The forms: a table of fields for each, and the arguments that the submitted values make. Pure.

A form makes the arguments that a person could have typed, so both go through one role check and one audit. Limits: Slack's
reference of views and block elements.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from bot.blockkit import card_blocks, plainer
from bot.blockkit.card_blocks import LABEL, OPTION_VALUE, Block, cut, plain
from shared.api.models import Sequence as Campaign
from shared.commands.base import Arguments, is_email
from shared.commands.leads import Add
from shared.commands.pause import Pause
from shared.commands.times import End
from shared.domain.card import Card
from shared.frozen import frozen
from shared.text.sanitize import visible
from shared.text.tokenize import parse_duration, split

FORM = "form"
"""Begins the `callback_id` of a form; the command follows."""
ANSWER = "answer"
"""The `callback_id` of a modal that only shows something."""
OPTIONS, BLOCK_ID = 100, 255
SEQUENCE, WORKSPACE = "sequence", "workspace"
View = dict[str, Any]
Values = Mapping[str, Any]
Errors = dict[str, str]
"""The error of each field."""

_LENGTHS = (
    ("none", "Until someone resumes it"),
    ("1h", "1 hour"),
    ("4h", "4 hours"),
    ("1d", "1 day"),
    ("3d", "3 days"),
    ("1w", "1 week"),
)


@frozen
class FormRequest:
    """The channel and workspace of a form; stored in the form."""

    channel: str = ""
    workspace: str = ""
    workspaces: Sequence[str] = ()
    """The choices; empty if there is only one."""


@frozen
class _Form:
    """The fields of a form, and the function that makes arguments of the answers."""

    title: str
    submit: str
    blocks: Callable[[FormRequest], list[Block]]
    read: Callable[[Values], Arguments | Errors]


def form_view(verb: str, request: FormRequest) -> View:
    """The empty form of a command."""
    form = _FORMS[verb]
    return {
        "type": "modal",
        "callback_id": f"{FORM}:{verb}",
        "title": plain(form.title),
        "submit": plain(form.submit),
        "close": plain("Cancel"),
        "private_metadata": json.dumps({"channel": request.channel, WORKSPACE: request.workspace}),
        "blocks": [*_workspaces(request), *form.blocks(request)],
    }


def verb_of(view: Mapping[str, Any]) -> str:
    """The command of a form; empty where it is none of these."""
    verb = str(view.get("callback_id") or "").removeprefix(f"{FORM}:")
    return verb if verb in _FORMS else ""


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


# -- the fields


def _workspaces(request: FormRequest) -> list[Block]:
    """Another choice updates the form with its sequences."""
    if not request.workspaces:
        return []
    names = [name for name in request.workspaces if len(name) <= OPTION_VALUE][:OPTIONS]
    if request.workspace not in names:
        # A menu holds a hundred options, and the chosen one must be among them.
        names[-1:] = [request.workspace]
    element = _select(WORKSPACE, [(name, name) for name in names], first=names.index(request.workspace))
    return [_input(WORKSPACE, "Outreach workspace", element) | {"dispatch_action": True}]


def _pause_fields(request: FormRequest) -> list[Block]:
    return [
        _sequence_menu(request),
        _input("length", "For how long", _select("length", _LENGTHS)),
        _input("reason", "Reason", _line(300, hint="Shown in the channel"), optional=True),
    ]


def _add_fields(request: FormRequest) -> list[Block]:
    more = _line(1_000, hint="plan=pro city=Oslo") | {"multiline": True}
    return [
        _input("email", "Email", _line(254)),
        _sequence_menu(request),
        *(_input(name, label, _line(100), optional=True) for name, label in _NAMES.items()),
        _input("more", "Other fields", more, optional=True),
    ]


_NAMES = {"first_name": "First name", "last_name": "Last name", "company": "Company"}


def _select(name: str, offered: Iterable[tuple[str, str]], *, first: int = 0) -> dict[str, Any]:
    """A choice of values with their labels, one of which is chosen."""
    drawn = [_option(label, value) for value, label in offered]
    return {"type": "static_select", "action_id": name, "options": drawn, "initial_option": drawn[first]}


def _sequence_menu(request: FormRequest) -> Block:
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
    return _input(name, "Sequence", element)


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
        sequence
        for sequence in sequences
        if text.casefold() in f"{sequence.label} {sequence.id}".casefold()
        and 0 < len(sequence.id) <= OPTION_VALUE
    ]
    return [_option(_info(sequence), sequence.id) for sequence in fitting[:OPTIONS]]


def _info(sequence: Campaign) -> str:
    status = f" · {sequence.status}" if sequence.status and sequence.status != "active" else ""
    return f"{cut(sequence.label, LABEL - len(status) - 1)}{status}"


# -- what was submitted


def read_form(view: Mapping[str, Any]) -> Arguments | Errors | None:
    """The arguments that the submitted values make, or the errors by block; None for an unknown form."""
    form = _FORMS.get(verb_of(view))
    if form is None:
        return None
    submitted = (view.get("state") or {}).get("values") or {}
    blocks = {name.partition(":")[0]: name for name in submitted}
    made = form.read({name: _value(submitted[block]) for name, block in blocks.items()})
    if isinstance(made, dict):
        return {blocks.get(name, name): why for name, why in made.items()}
    return made


def _value(elements: Mapping[str, Any]) -> str:
    element: Mapping[str, Any] = next(iter(elements.values()), {})
    return str((element.get("selected_option") or {}).get("value") or element.get("value") or "").strip()


def _read_pause(values: Values) -> Arguments | Errors:
    if not values.get(SEQUENCE):
        return {SEQUENCE: "Choose a sequence."}
    length = parse_duration(values.get("length") or "")
    return Pause(target=(values[SEQUENCE],), end=End(duration=length), reason=values.get("reason") or "")


def _read_add(values: Values) -> Arguments | Errors:
    errors = {}
    if not is_email(values.get("email") or ""):
        errors["email"] = "Enter a valid email address."
    if not values.get(SEQUENCE):
        errors[SEQUENCE] = "Choose a sequence."
    more = split(values.get("more") or "")
    if wrong := next((word for word in more if not word.key), None):
        errors["more"] = f"Use name=value, like city=Oslo. “{cut(wrong.text, 40)}” isn't in this form."
    if errors:
        return errors
    named = {key: values[key] for key in _NAMES if values.get(key)}
    fields = {**named, **{word.key: word.value for word in more}}
    return Add(email=values["email"], target=(values[SEQUENCE],), fields=fields)


_FORMS: Mapping[str, _Form] = {
    "pause": _Form(title="Pause a sequence", submit="Pause", blocks=_pause_fields, read=_read_pause),
    "add": _Form(title="Add a lead", submit="Add", blocks=_add_fields, read=_read_add),
}
