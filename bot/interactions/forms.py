"""The forms: the fields of each, and the arguments that the submitted values make. Pure.

A form makes the arguments that a person could have typed, so both go through one role check and one audit. Limits: Slack's
reference of views and block elements.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bot import blockkit
from bot.blockkit import LABEL, OPTION_VALUE, Block, cut, plain
from bot.commands.dispatch import FORMS
from shared.api.models import Sequence as Campaign
from shared.commands.base import Arguments, is_email
from shared.commands.leads import Add
from shared.commands.pause import Pause
from shared.commands.times import End
from shared.domain.card import Card
from shared.text.sanitize import visible
from shared.text.tokenize import parse_duration, split

FORM = "form"
"""Begins the `callback_id` of a form; the command follows."""
OPTIONS, BLOCK_ID = 100, 255
SEQUENCE, WORKSPACE = "sequence", "workspace"
View = dict[str, Any]
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
_NAMES = {"first_name": "First name", "last_name": "Last name", "company": "Company"}


def form_view(verb: str, channel: str, *, workspace: str, workspaces: Sequence[str]) -> View:
    """The empty form of a command, with a choice of its workspace where there are several."""
    title, submit = FORMS[verb]
    if len(workspaces) == 1:
        workspace = ""
    blocks = _pause_fields(workspace) if verb == "pause" else _add_fields(workspace)
    if workspace:
        blocks.insert(0, _workspace_menu(workspace, workspaces))
    return {
        "type": "modal",
        "callback_id": f"{FORM}:{verb}",
        "title": plain(title),
        "submit": plain(submit),
        "close": plain("Cancel"),
        "private_metadata": json.dumps({"channel": channel, WORKSPACE: workspace}),
        "blocks": blocks,
    }


def verb_of(view: Mapping[str, Any]) -> str:
    """The command of a form; empty where it is none of these."""
    verb = str(view.get("callback_id") or "").removeprefix(f"{FORM}:")
    return verb if verb in FORMS else ""


def answer_view(card: Card, *, items: Sequence[Card] = (), channel: str = "") -> View:
    """A modal that shows an answer; its buttons run as they do in a message."""
    return {
        "type": "modal",
        "callback_id": "answer",
        "title": plain("Outreach"),
        "close": plain("Close"),
        "private_metadata": json.dumps({"channel": channel}),
        "blocks": blockkit.render_view(card, items=items),
    }


def ack_view(card: Card, *, channel: str = "") -> View:
    """A view for an acknowledgement, of text only, because Slack reports a rejection there only to the person.

    https://docs.slack.dev/surfaces/modals#updating_response
    """
    return blockkit.plain_view(answer_view(card, channel=channel))


def metadata_of(view: Mapping[str, Any], name: str) -> str:
    """The `channel` or the `workspace` that we wrote into a view. Raises where it is something else."""
    return str(json.loads(view.get("private_metadata") or "{}").get(name) or "")


# -- the fields


def _workspace_menu(workspace: str, workspaces: Sequence[str]) -> Block:
    """Another choice updates the form with its sequences."""
    # A menu holds a hundred options, and the chosen one must be among them.
    names = [workspace, *(name for name in workspaces if name != workspace)][:OPTIONS]
    element = _select(WORKSPACE, [(name, name) for name in names])
    return _input(WORKSPACE, "Outreach workspace", element) | {"dispatch_action": True}


def _pause_fields(workspace: str) -> list[Block]:
    return [
        _sequence_menu(workspace),
        _input("length", "For how long", _select("length", _LENGTHS)),
        _input("reason", "Reason", _line(300, hint="Shown in the channel"), optional=True),
    ]


def _add_fields(workspace: str) -> list[Block]:
    more = _line(1_000, hint="plan=pro city=Oslo") | {"multiline": True}
    return [
        _input("email", "Email", _line(254)),
        _sequence_menu(workspace),
        *(_input(name, label, _line(100), optional=True) for name, label in _NAMES.items()),
        _input("more", "Other fields", more, optional=True),
    ]


def _select(name: str, offered: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """A choice of values with their labels; the first is chosen."""
    drawn = [_option(label, value) for value, label in offered]
    return {"type": "static_select", "action_id": name, "options": drawn, "initial_option": drawn[0]}


def _sequence_menu(workspace: str) -> Block:
    """Loaded from the bot while a person types, since there may be more sequences than a menu can hold.

    The block is another one in another workspace: Slack keeps what was chosen in a block of the same name.
    """
    element = {
        "type": "external_select",
        "action_id": SEQUENCE,
        "min_query_length": 0,
        "placeholder": plain("Start typing its name"),
    }
    return _input(f"{SEQUENCE}:{workspace}"[:BLOCK_ID].removesuffix(":"), "Sequence", element)


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
    drawn = []
    for sequence in sequences:
        if text.casefold() in f"{sequence.label} {sequence.id}".casefold():
            status = f" · {sequence.status}" if sequence.status and sequence.status != "active" else ""
            label = f"{cut(sequence.label, LABEL - len(status) - 1)}{status}"
            drawn.append(_option(label, sequence.id))
    return [option for option in drawn if 0 < len(option["value"]) <= OPTION_VALUE][:OPTIONS]


# -- what was submitted


def read_form(view: Mapping[str, Any]) -> Arguments | Errors | None:
    """The arguments that the submitted values make, or the errors by block; None for an unknown form."""
    verb, submitted = verb_of(view), (view.get("state") or {}).get("values") or {}
    if not verb:
        return None
    blocks = {name.partition(":")[0]: name for name in submitted}
    values = dict.fromkeys((SEQUENCE, "email", "length", "reason", "more", *_NAMES), "")
    values |= {name: _value(submitted[block]) for name, block in blocks.items()}
    errors = {} if values[SEQUENCE] else {SEQUENCE: "Choose a sequence."}
    more = split(values["more"])
    if verb == "add" and not is_email(values["email"]):
        errors["email"] = "Enter a valid email address."
    if wrong := next((word for word in more if not word.key), None):
        errors["more"] = f"Use name=value, like city=Oslo. “{cut(wrong.text, 40)}” isn't in this form."
    if errors:
        return {blocks.get(name, name): why for name, why in errors.items()}
    target = (values[SEQUENCE],)
    if verb == "pause":
        return Pause(
            target=target, end=End(duration=parse_duration(values["length"])), reason=values["reason"]
        )
    fields = {key: values[key] for key in _NAMES if values[key]} | {word.key: word.value for word in more}
    return Add(email=values["email"], target=target, fields=fields)


def _value(elements: Mapping[str, Any]) -> str:
    element: Mapping[str, Any] = next(iter(elements.values()), {})
    return str((element.get("selected_option") or {}).get("value") or element.get("value") or "").strip()
