"""Turns a submitted form into the arguments of its command. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.blockkit.elements import cut
from bot.commands.answer import Answer
from bot.interactions.forms import SEQUENCE, channel_of, verb_of, workspace_of
from shared.commands.base import HERE, Arguments, is_email
from shared.commands.leads import Add
from shared.commands.pause import Pause
from shared.commands.subscribe import Subscribe
from shared.text.sanitize import visible
from shared.text.tokenize import parse_duration, split


@dataclass(frozen=True, slots=True, kw_only=True)
class FormInput:
    """The arguments of a form, or its errors by block."""

    arguments: Arguments | None = None
    errors: Mapping[str, str] = field(default_factory=dict)
    workspace: str = ""
    channel: str = ""
    blocks: Mapping[str, str] = field(default_factory=dict)
    """The name of a field -> the id of its block."""

    def errors_of(self, answer: Answer) -> dict[str, str]:
        """The answer's problem at the field that is to blame; empty if there is none, or the answer offers a choice."""
        argument = answer.problem.argument if answer.problem and not answer.card.buttons else ""
        block = self.blocks.get(_FIELDS.get(argument, argument))
        why = " ".join((f"{answer.card.title.rstrip('.')}.", *answer.card.text))
        return {block: visible(cut(why, LONGEST_ERROR))} if block else {}


LONGEST_ERROR = 300
_FIELDS = {"target": SEQUENCE, "duration": "length", "until": "length", "fields": "more"}
"""Arguments whose field has another name."""


def read_form(view: Mapping[str, Any]) -> FormInput | None:
    """The submitted values; None for an unknown form."""
    readers: dict[str, Callable[[Mapping[str, Any]], Arguments | dict[str, str]]] = {
        "pause": _read_pause,
        "subscribe": _read_subscribe,
        "add": _read_add,
    }
    read = readers.get(verb_of(view))
    if read is None:
        return None
    submitted = (view.get("state") or {}).get("values") or {}
    blocks = {name.partition(":")[0]: name for name in submitted}
    values = {name: _value(submitted[block]) for name, block in blocks.items()}
    found = read(values)
    if isinstance(found, dict):
        return FormInput(errors={blocks.get(name, name): why for name, why in found.items()})
    channel = values.get("channel") or channel_of(view)
    return FormInput(arguments=found, workspace=workspace_of(view), channel=channel, blocks=blocks)


def _value(fields: Mapping[str, Any]) -> Any:
    for element in fields.values():
        if element.get("selected_options") is not None:
            return [one["value"] for one in element["selected_options"]]
        chosen = (element.get("selected_option") or {}).get("value")
        return chosen or element.get("selected_conversation") or (element.get("value") or "").strip()
    return ""


def _read_pause(values: Mapping[str, Any]) -> Arguments | dict[str, str]:
    if not values.get(SEQUENCE):
        return {SEQUENCE: "Choose a sequence."}
    length = parse_duration(values.get("length") or "")
    return Pause(target=(values[SEQUENCE],), duration=length, reason=values.get("reason") or "")


def _read_subscribe(values: Mapping[str, Any]) -> Arguments | dict[str, str]:
    if not values.get("events"):
        return {"events": "Choose at least one."}
    return Subscribe(
        events=tuple(values["events"]),
        sequence=values.get(SEQUENCE) or "",
        inbox=values.get("inbox") or "",
        channel=values.get("channel") or HERE,
        condensed=values.get("form") == "condensed",
    )


def _read_add(values: Mapping[str, Any]) -> Arguments | dict[str, str]:
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
    named = {key: values[key] for key in ("first_name", "last_name", "company") if values.get(key)}
    fields = {**named, **{word.key: word.value for word in more}}
    return Add(email=values["email"], target=(values[SEQUENCE],), fields=fields)
