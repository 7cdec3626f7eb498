"""Turns a submitted form into a command line. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bot.blockkit.elements import cut
from bot.interactions.forms import SEQUENCE, channel_of, verb_of, workspace_of
from shared.commands.arguments import EMAIL
from shared.guardrails.catalog import NAME
from shared.guardrails.rule import quoted
from shared.guardrails.sentence import Misunderstood, parse
from shared.guardrails.words import ENOUGH_SENDS
from shared.text.tokenize import join, quote, split


@dataclass(frozen=True, slots=True, kw_only=True)
class FormInput:
    """The line of a form, or its errors by block."""

    line: str = ""
    errors: Mapping[str, str] | None = None
    channel: str = ""


def read_form(view: Mapping[str, Any]) -> FormInput | None:
    """The submitted values; None for an unknown form."""
    readers = {
        "pause": _read_pause,
        "subscribe": _read_subscribe,
        "add": _read_add,
        "guard": _read_guard,
    }
    read = readers.get(verb_of(view))
    if read is None:
        return None
    values = (view.get("state") or {}).get("values") or {}
    blocks = {name.partition(":")[0]: name for name in values}
    found = read({name: _value(values[block]) for name, block in blocks.items()}, channel_of(view))
    if found.errors:
        return replace(found, errors={blocks.get(name, name): why for name, why in found.errors.items()})
    workspace = workspace_of(view)
    return replace(found, line=f"{found.line} @{workspace}") if workspace else found


def _value(fields: Mapping[str, Any]) -> Any:
    for field in fields.values():
        if field.get("selected_options") is not None:
            return [one["value"] for one in field["selected_options"]]
        chosen = (field.get("selected_option") or {}).get("value")
        return chosen or field.get("selected_conversation") or (field.get("value") or "").strip()
    return ""


def _read_pause(values: Mapping[str, Any], channel: str) -> FormInput:
    if not values.get(SEQUENCE):
        return FormInput(errors={SEQUENCE: "Choose a sequence."})
    line = join("pause", values[SEQUENCE])
    if values.get("length") not in {None, "", "none"}:
        line += f" for {values['length']}"
    if values.get("reason"):
        line += f" reason {quote(values['reason'])}"
    return FormInput(line=line, channel=channel)


def _read_subscribe(values: Mapping[str, Any], channel: str) -> FormInput:
    events: Sequence[str] = values.get("events") or ()
    if not events:
        return FormInput(errors={"events": "Choose at least one."})
    words = ["subscribe", *events]
    words += [f"{key}={quote(values[key])}" for key in (SEQUENCE, "inbox") if values.get(key)]
    words += [f"<#{values['channel']}>"] if values.get("channel") else []
    words += ["condensed"] if values.get("form") == "condensed" else []
    return FormInput(line=" ".join(words), channel=values.get("channel") or channel)


def _read_add(values: Mapping[str, Any], channel: str) -> FormInput:
    errors = {}
    if not EMAIL.fullmatch(values.get("email") or ""):
        errors["email"] = "Enter a valid email address."
    if not values.get(SEQUENCE):
        errors[SEQUENCE] = "Choose a sequence."
    more = split(values.get("more") or "")
    if wrong := next((word for word in more if not word.key), None):
        errors["more"] = f"Use name=value, like city=Oslo. “{cut(wrong.text, 40)}” isn't in this form."
    if errors:
        return FormInput(errors=errors)
    named = [(key, values[key]) for key in ("first_name", "last_name", "company") if values.get(key)]
    fields = [f"{key}={quote(value)}" for key, value in (*named, *((w.key, w.value) for w in more))]
    return FormInput(
        line=" ".join((join("add", values["email"], "to", values[SEQUENCE]), *fields)).replace(
            ' "to" ', " to ", 1
        ),
        channel=channel,
    )


def _read_guard(values: Mapping[str, Any], channel: str) -> FormInput:
    condition, action = str(values.get("condition") or ""), str(values.get("action") or "suggest")
    limit = str(values.get("limit") or "").removesuffix("%").strip()
    if "{limit}" in condition and not limit:
        return FormInput(errors={"limit": "Give a number, like 5."})
    name = str(values.get("name") or "").lower()
    if name and not NAME.fullmatch(name):
        return FormInput(errors={"name": "Use up to 40 letters, digits, dots and dashes, without spaces."})
    when = condition.format(
        limit=limit, sends=values.get("sends") or ENOUGH_SENDS, window=values.get("window") or "24h"
    )
    verb = {"tell": "notify about", "suggest": "suggest pausing"}.get(action, "pause")
    length = values.get("length") if action != "tell" else None
    lasts = f" for {length}" if length not in {None, "", "none"} else ""
    excepted = f", except {quoted(values['except'])}" if values.get("except") else ""
    sentence = f"{verb} {values.get('scope') or 'sequence'}{lasts} when {when}{excepted}"
    try:
        rule = parse(sentence)
    except Misunderstood as error:
        return FormInput(errors={_blamed(error.problem): error.problem})
    named = f" as {name}" if name else ""
    return FormInput(line=f"guard add {quote(str(rule))}{named}", channel=channel)


def _blamed(problem: str) -> str:
    """The field below which an error of the sentence is shown."""
    if "whole number" in problem:
        return "sends"
    return "scope" if "inbox" in problem else "limit"
