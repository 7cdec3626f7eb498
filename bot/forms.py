"""The modals: what is asked, and the command line that the answers make. Pure.

A form ends in the same line that somebody could have typed, so that one parser, one check of roles and one audit
stand behind both. Limits: Slack's reference of views and block elements.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.blocks import LABEL, OPTION_VALUE, Block, cut, plain, render_blocks
from shared.api.models import EVENT_KINDS
from shared.api.models import Sequence as Campaign
from shared.card import Card
from shared.commands.arguments import EMAIL
from shared.plain import visible
from shared.words import join, quote, split

FORM = "form"
"""Begins the `callback_id` of a form; the command follows."""
ANSWER = "answer"
"""The `callback_id` of a modal that only shows something."""
TITLE, OPTIONS, METADATA = 24, 100, 3_000
SEQUENCE = "sequence"
View = dict[str, Any]

_LENGTHS = (
    ("", "until somebody resumes it"),
    ("1h", "1 hour"),
    ("4h", "4 hours"),
    ("1d", "1 day"),
    ("3d", "3 days"),
    ("1w", "1 week"),
)
_EVENTS = {
    "lead.replied": "Somebody answered",
    "reply.interested": "Somebody is interested",
    "reply.ooo": "Somebody is out of office",
    "lead.bounced": "A message bounced",
    "lead.unsubscribed": "Somebody unsubscribed",
    "sequence.completed": "A sequence is completed",
    "domain.paused": "A domain was paused",
}
_TITLES = {"pause": "Pause a sequence", "subscribe": "Subscribe a channel", "add": "Add a lead"}
_SUBMIT = {"pause": "Pause", "subscribe": "Subscribe", "add": "Add"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """The line of a form, or what is wrong, by block."""

    line: str = ""
    errors: Mapping[str, str] | None = None
    channel: str = ""


def form(verb: str, *, channel: str = "", sequence: Campaign | None = None) -> View:
    """The empty form of a command; `channel` is where it was asked for, `sequence` what it is about."""
    drawn = {"pause": _pause, "subscribe": _subscribe, "add": _add}[verb](sequence, channel)
    return {
        "type": "modal",
        "callback_id": f"{FORM}:{verb}",
        "title": plain(_TITLES[verb]),
        "submit": plain(_SUBMIT[verb]),
        "close": plain("Cancel"),
        "private_metadata": json.dumps({"channel": channel}),
        "blocks": drawn,
    }


def answer(card: Card, *, title: str = "Outreach", channel: str = "") -> View:
    """A modal that shows a card; its buttons run as they do in a message."""
    return {
        "type": "modal",
        "callback_id": ANSWER,
        "title": plain(cut(title, TITLE)),
        "close": plain("Close"),
        "private_metadata": json.dumps({"channel": channel}),
        "blocks": render_blocks(card),
    }


def channel_of(view: Mapping[str, Any]) -> str:
    """Where a view was asked for; empty where it does not say."""
    try:
        told = json.loads(view.get("private_metadata") or "{}")
    except ValueError:
        return ""
    return str(told.get("channel") or "") if isinstance(told, dict) else ""


def _pause(sequence: Campaign | None, _: str) -> list[Block]:
    lengths = [_option(label, value or "none") for value, label in _LENGTHS]
    return [
        _asked(SEQUENCE, "Sequence", _which(sequence)),
        _asked(
            "length",
            "For how long",
            {
                "type": "static_select",
                "action_id": "length",
                "options": lengths,
                "initial_option": lengths[0],
            },
        ),
        _asked("reason", "Reason", _line(300, hint="Others will read it in the channel"), optional=True),
    ]


def _subscribe(sequence: Campaign | None, channel: str) -> list[Block]:
    kinds = [_option(_EVENTS.get(kind, kind), kind) for kind in EVENT_KINDS]
    forms = [_option("A whole card each", "full"), _option("One line each", "condensed")]
    return [
        _asked("events", "What for", {"type": "checkboxes", "action_id": "events", "options": kinds}),
        _asked(
            "channel",
            "Which channel",
            {
                "type": "conversations_select",
                "action_id": "channel",
                "placeholder": plain("Choose a channel"),
                **({"initial_conversation": channel} if channel[:1] in {"C", "G"} else {}),
                "filter": {"include": ["public", "private"], "exclude_bot_users": True},
            },
        ),
        _asked(SEQUENCE, "Only of this sequence", _which(sequence), optional=True),
        _asked("inbox", "Only of this inbox or domain", _line(250), optional=True),
        _asked(
            "form",
            "How",
            {"type": "radio_buttons", "action_id": "form", "options": forms, "initial_option": forms[0]},
        ),
    ]


def _add(sequence: Campaign | None, _: str) -> list[Block]:
    return [
        _asked("email", "E-mail address", _line(254)),
        _asked(SEQUENCE, "Sequence", _which(sequence)),
        _asked("first_name", "First name", _line(100), optional=True),
        _asked("last_name", "Last name", _line(100), optional=True),
        _asked("company", "Company", _line(100), optional=True),
        _asked(
            "more",
            "Other fields",
            _line(1_000, hint="plan=pro city=Oslo") | {"multiline": True},
            optional=True,
        ),
    ]


def _which(sequence: Campaign | None) -> dict[str, Any]:
    """Asked of the bot while somebody types, since there may be more sequences than a menu holds."""
    element: dict[str, Any] = {
        "type": "external_select",
        "action_id": SEQUENCE,
        "min_query_length": 0,
        "placeholder": plain("Begin to type its name"),
    }
    first = options([sequence]) if sequence else []
    return element | ({"initial_option": first[0]} if first else {})


def _line(most: int, *, hint: str = "") -> dict[str, Any]:
    element: dict[str, Any] = {"type": "plain_text_input", "action_id": "text", "max_length": most}
    return element | ({"placeholder": plain(hint)} if hint else {})


def _asked(name: str, label: str, element: dict[str, Any], *, optional: bool = False) -> Block:
    return {
        "type": "input",
        "block_id": name,
        "label": plain(label),
        "element": element,
        "optional": optional,
    }


def _option(label: str, value: str) -> dict[str, Any]:
    return {"text": plain(cut(visible(label).strip(), LABEL) or "…"), "value": value}


def options(sequences: Iterable[Campaign], said: str = "") -> list[dict[str, Any]]:
    """Those whose name or id holds what was typed, as a menu's options."""
    fitting = [
        one
        for one in sequences
        if said.casefold() in f"{one.label} {one.id}".casefold() and 0 < len(one.id) <= OPTION_VALUE
    ]
    return [_option(_told(one), one.id) for one in fitting[:OPTIONS]]


def _told(one: Campaign) -> str:
    status = f" · {one.status}" if one.status and one.status != "active" else ""
    return f"{cut(one.label, LABEL - len(status) - 1)}{status}"


def filled(view: Mapping[str, Any]) -> Filled | None:
    """What somebody filled in; None: this is no form that the bot knows."""
    verb = str(view.get("callback_id") or "").removeprefix(f"{FORM}:")
    read = {"pause": _read_pause, "subscribe": _read_subscribe, "add": _read_add}.get(verb)
    if read is None:
        return None
    values = (view.get("state") or {}).get("values") or {}
    return read({name: _value(fields) for name, fields in values.items()}, channel_of(view))


def _value(fields: Mapping[str, Any]) -> Any:
    """The one value of a block, whatever element holds it."""
    for field in fields.values():
        if field.get("selected_options") is not None:
            return [one["value"] for one in field["selected_options"]]
        chosen = (field.get("selected_option") or {}).get("value")
        return chosen or field.get("selected_conversation") or (field.get("value") or "").strip()
    return ""


def _read_pause(values: Mapping[str, Any], channel: str) -> Filled:
    if not values.get(SEQUENCE):
        return Filled(errors={SEQUENCE: "Choose a sequence."})
    line = join("pause", values[SEQUENCE])
    if values.get("length") not in {None, "", "none"}:
        line += f" for {values['length']}"
    if values.get("reason"):
        line += f" reason {quote(values['reason'])}"
    return Filled(line=line, channel=channel)


def _read_subscribe(values: Mapping[str, Any], channel: str) -> Filled:
    events: Sequence[str] = values.get("events") or ()
    if not events:
        return Filled(errors={"events": "Choose at least one."})
    words = ["subscribe", *events]
    words += [f"{key}={quote(values[key])}" for key in (SEQUENCE, "inbox") if values.get(key)]
    words += [f"<#{values['channel']}>"] if values.get("channel") else []
    words += ["condensed"] if values.get("form") == "condensed" else []
    return Filled(line=" ".join(words), channel=values.get("channel") or channel)


def _read_add(values: Mapping[str, Any], channel: str) -> Filled:
    errors = {}
    if not EMAIL.fullmatch(values.get("email") or ""):
        errors["email"] = "This is no e-mail address."
    if not values.get(SEQUENCE):
        errors[SEQUENCE] = "Choose a sequence."
    more = split(values.get("more") or "")
    if wrong := next((word for word in more if not word.key), None):
        errors["more"] = f"Write name=value, like city=Oslo; “{cut(wrong.text, 40)}” is none."
    if errors:
        return Filled(errors=errors)
    named = [(key, values[key]) for key in ("first_name", "last_name", "company") if values.get(key)]
    fields = [f"{key}={quote(value)}" for key, value in (*named, *((w.key, w.value) for w in more))]
    return Filled(
        line=" ".join((join("add", values["email"], "to", values[SEQUENCE]), *fields)).replace(
            ' "to" ', " to ", 1
        ),
        channel=channel,
    )
