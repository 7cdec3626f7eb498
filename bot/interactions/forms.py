"""The forms: the fields of each, and the arguments that the submitted values make. Pure.

A form makes the arguments that a person could have typed, so both go through one role check and one audit. Limits: Slack's
reference of views and block elements.
"""

from __future__ import annotations

import json
from collections import defaultdict
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

OPTIONS, BLOCK_ID = 100, 255
SEQUENCE, WORKSPACE = "sequence", "workspace"
View = dict[str, Any]
Errors = dict[str, str]
"""The error of each field."""


# -- the fields


def _option(label: str, value: str) -> Block:
    return {"text": plain(cut(visible(label).strip(), LABEL) or "…"), "value": value}


def _menu(name: str, offered: Mapping[str, str]) -> Block:
    """A choice of values, each with its label; the first is chosen."""
    drawn = [_option(label, value) for value, label in offered.items()]
    return {"type": "static_select", "action_id": name, "options": drawn, "initial_option": drawn[0]}


def _text(most: int, **more: Any) -> Block:
    return {"type": "plain_text_input", "action_id": "text", "max_length": most, **more}


def _field(name: str, label: str, element: Block, *, optional: bool = False) -> Block:
    return {
        "type": "input",
        "block_id": name,
        "label": plain(label),
        "element": element,
        "optional": optional,
    }


_LENGTHS = {
    "none": "Until someone resumes it",
    "1h": "1 hour",
    "4h": "4 hours",
    "1d": "1 day",
    "3d": "3 days",
    "1w": "1 week",
}
_NAMES = {"first_name": "First name", "last_name": "Last name", "company": "Company"}
# Loaded from the bot while a person types, since there may be more sequences than a menu can hold.
_SEQUENCE = _field(
    SEQUENCE,
    "Sequence",
    {
        "type": "external_select",
        "action_id": SEQUENCE,
        "min_query_length": 0,
        "placeholder": plain("Start typing its name"),
    },
)
_FIELDS: Mapping[str, Sequence[Block]] = {
    "pause": (
        _SEQUENCE,
        _field("length", "For how long", _menu("length", _LENGTHS)),
        _field("reason", "Reason", _text(300, placeholder=plain("Shown in the channel")), optional=True),
    ),
    "add": (
        _field("email", "Email", _text(254)),
        _SEQUENCE,
        *(_field(name, label, _text(100), optional=True) for name, label in _NAMES.items()),
        _field(
            "more",
            "Other fields",
            _text(1_000, placeholder=plain("plan=pro city=Oslo"), multiline=True),
            optional=True,
        ),
    ),
}


def form_view(verb: str, channel: str, *, workspace: str, workspaces: Sequence[str]) -> View:
    """The empty form of a command, with a choice of its workspace where there are several."""
    title, submit = FORMS[verb]
    blocks = list(_FIELDS[verb])
    if len(workspaces) == 1:
        workspace = ""
    else:
        # The block is another one in another workspace: Slack keeps what was chosen in a block of the same name.
        block = f"{SEQUENCE}:{workspace}"[:BLOCK_ID]
        blocks[blocks.index(_SEQUENCE)] = _SEQUENCE | {"block_id": block}
        # A menu holds a hundred options, and the chosen one must be among them.
        names = [workspace, *workspaces][:OPTIONS]
        menu = _menu(WORKSPACE, {name: name for name in names})
        # Another choice updates the form with its sequences.
        blocks.insert(0, _field(WORKSPACE, "Outreach workspace", menu) | {"dispatch_action": True})
    view = _modal(verb, title, blocks, close="Cancel", channel=channel, workspace=workspace)
    return view | {"submit": plain(submit)}


def options(sequences: Iterable[Campaign], text: str = "") -> list[Block]:
    """Menu options for sequences whose name or id contains the typed text."""
    drawn = []
    for sequence in sequences:
        if text.casefold() in f"{sequence.label} {sequence.id}".casefold():
            status = f" · {sequence.status}" if sequence.status and sequence.status != "active" else ""
            label = f"{cut(sequence.label, LABEL - len(status) - 1)}{status}"
            drawn.append(_option(label, sequence.id))
    return [option for option in drawn if 0 < len(option["value"]) <= OPTION_VALUE][:OPTIONS]


# -- modals


def _modal(name: str, title: str, blocks: list[Block], *, close: str = "Close", **metadata: str) -> View:
    return {
        "type": "modal",
        "callback_id": name,
        "title": plain(title),
        "close": plain(close),
        "private_metadata": json.dumps(metadata),
        "blocks": blocks,
    }


def answer_view(card: Card, *, items: Sequence[Card] = (), channel: str = "") -> View:
    """A modal that shows an answer; its buttons run as they do in a message."""
    return _modal("answer", "Outreach", blockkit.render_view(card, items=items), channel=channel)


def ack_view(card: Card, *, channel: str = "") -> View:
    """A view for an acknowledgement, of text only, because Slack reports a rejection there only to the person.

    https://docs.slack.dev/surfaces/modals#updating_response
    """
    return blockkit.plain_view(answer_view(card, channel=channel))


def metadata_of(view: Mapping[str, Any], name: str) -> str:
    """The `channel` or the `workspace` that we wrote into a view. Raises where it is something else."""
    return str(json.loads(view.get("private_metadata") or "{}").get(name) or "")


def verb_of(view: Mapping[str, Any]) -> str:
    """The command of a form; empty where it is none of these."""
    verb = str(view.get("callback_id"))
    return verb if verb in FORMS else ""


# -- what was submitted


def read_form(view: Mapping[str, Any]) -> Arguments | Errors | None:
    """The arguments that the submitted values make, or the errors by block; None for an unknown form."""
    verb, submitted = verb_of(view), (view.get("state") or {}).get("values") or {}
    if not verb:
        return None
    blocks = {block.partition(":")[0]: block for block in submitted}
    values = defaultdict(str, {name: _value(submitted[block]) for name, block in blocks.items()})
    more = split(values["more"])
    errors = {} if values[SEQUENCE] else {SEQUENCE: "Choose a sequence."}
    if verb == "add" and not is_email(values["email"]):
        errors["email"] = "Enter a valid email address."
    if wrong := next((word for word in more if not word.key), None):
        errors["more"] = f"Use name=value, like city=Oslo. “{cut(wrong.text, 40)}” isn't in this form."
    if errors:
        return {blocks.get(name, name): why for name, why in errors.items()}
    target = (values[SEQUENCE],)
    if verb == "pause":
        end = End(duration=parse_duration(values["length"]))
        return Pause(target=target, end=end, reason=values["reason"])
    fields = {key: values[key] for key in _NAMES if values[key]} | {word.key: word.value for word in more}
    return Add(email=values["email"], target=target, fields=fields)


def _value(elements: Mapping[str, Any]) -> str:
    element: Mapping[str, Any] = next(iter(elements.values()), {})
    return str((element.get("selected_option") or {}).get("value") or element.get("value") or "").strip()
