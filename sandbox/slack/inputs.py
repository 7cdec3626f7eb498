"""From what a person chose or typed to the `value`, `selected_option`, … that Slack sends for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sandbox.slack.errors import InvalidActionError
from sandbox.slack.model import Json

_TEXTS = ("plain_text_input", "email_text_input", "url_text_input", "number_input")
_CHOICES = {
    "datepicker": "date",
    "timepicker": "time",
    "datetimepicker": "date_time",
    "users_select": "user",
    "channels_select": "channel",
    "conversations_select": "conversation",
    "multi_users_select": "users",
    "multi_channels_select": "channels",
    "multi_conversations_select": "conversations",
}
_OPTION = {"static_select", "external_select", "radio_buttons", "overflow"}
_OPTIONS = {"multi_static_select", "multi_external_select", "checkboxes"}
UNSET: Any = object()
"""Nothing was chosen, so the element keeps its initial value."""


def elements(blocks: list[Json]) -> Iterator[tuple[Json, Json]]:
    """Yield every element that a person can act on, with its block."""
    for block in blocks:
        inner = block.get("elements", []) if block["type"] == "actions" else []
        for element in [*inner, block.get("accessory"), block.get("element")]:
            if isinstance(element, dict) and "action_id" in element:
                yield block, element


def _text(element: Json) -> str:
    return str(element.get("text", {}).get("text", element["action_id"]))


def find(blocks: list[Json], *, action_id: str, text: str, block_id: str) -> tuple[Json, Json]:
    """Find an element by its action id, or by a button's text.

    Raises `InvalidActionError` with those that there are.
    """
    for block, element in elements(blocks):
        named = element["action_id"] == action_id if action_id else _text(element) == text
        if named and block_id in ("", block["block_id"]):
            return block, element
    known = ", ".join(_text(element) for _, element in elements(blocks))
    raise InvalidActionError(f"no such element; there are: {known or 'none'}")


def options(element: Json) -> list[Json]:
    groups = element.get("option_groups") or []
    grouped = [option for group in groups for option in group["options"]]
    return [*(element.get("options") or []), *grouped]


def _option(element: Json, chosen: Any, offered: list[Json]) -> Json | None:
    if isinstance(chosen, dict):
        return chosen
    for option in [*options(element), *offered]:
        if option["value"] == str(chosen):
            return option
    return None


def value_of(element: Json, chosen: Any = UNSET, *, offered: list[Json] | None = None) -> Json:
    """Return the part of an action or a state that says what is chosen.

    `offered` are the options that the app gave for an external select.
    """
    kind = element["type"]
    known = offered or []
    if kind in _TEXTS:
        value = element.get("initial_value") if chosen is UNSET else chosen
        return {"type": kind, "value": None if value == "" else value}
    if kind in _CHOICES:
        name = _CHOICES[kind]
        value = element.get(f"initial_{name}") if chosen is UNSET else chosen
        if kind.startswith("multi_"):
            value = value or []
        return {"type": kind, f"selected_{name}": None if value == "" else value}
    if kind in _OPTION:
        initial = element.get("initial_option")
        option = initial if chosen is UNSET else _option(element, chosen, known)
        return {"type": kind, "selected_option": option}
    if kind in _OPTIONS:
        if chosen is UNSET:
            return {"type": kind, "selected_options": element.get("initial_options") or []}
        picked = chosen if isinstance(chosen, list) else [chosen]
        found = [_option(element, one, known) for one in picked]
        return {"type": kind, "selected_options": [one for one in found if one is not None]}
    return {"type": kind}


def state(blocks: list[Json], given: Json, *, offered: list[Json] | None = None) -> Json:
    """Return `state` of a view or message.

    `given` has the values by block id and action id, or by action id alone.
    """
    values: Json = {}
    for block, element in elements(blocks):
        if element["type"] in ("button", "overflow"):
            continue
        name, of_block = element["action_id"], given.get(block["block_id"])
        place = of_block if isinstance(of_block, dict) and name in of_block else given
        value = value_of(element, place.get(name, UNSET), offered=offered)
        values.setdefault(block["block_id"], {})[name] = value
    return {"values": values}


def action_of(block: Json, element: Json, value: Any, *, now: float) -> Json:
    """Return the entry of `actions` for an act on an element.

    Raises `InvalidActionError` where there is no such option.
    """
    chosen = value_of(element, value)
    if element["type"] in ("static_select", "overflow") and chosen["selected_option"] is None:
        known = ", ".join(option["value"] for option in options(element))
        raise InvalidActionError(f"no such option; there are: {known}")
    action: Json = {"action_id": element["action_id"], "block_id": block["block_id"], **chosen}
    for name in ("text", "value", "style"):
        if element["type"] == "button" and name in element:
            action[name] = element[name]
    if element.get("placeholder"):
        action["placeholder"] = element["placeholder"]
    return {**action, "action_ts": f"{now:.6f}"}


def missing(blocks: list[Json], filled: Json) -> dict[str, str]:
    """Return what Slack says under inputs that are empty or outside their limits, by block id."""
    found: dict[str, str] = {}
    for block in blocks:
        if block["type"] != "input":
            continue
        element = block["element"]
        answer = filled["values"][block["block_id"]][element["action_id"]]
        value = next((item for name, item in answer.items() if name != "type"), None)
        if complaint := _complaint(block, element, value):
            found[block["block_id"]] = complaint
    return found


def _complaint(block: Json, element: Json, value: Any) -> str:
    if value in (None, "", []):
        return "" if block.get("optional") else "Please complete this required field."
    if isinstance(value, str) and element["type"] in _TEXTS:
        least, most = element.get("min_length", 0), element.get("max_length", 3000)
        if len(value) < least:
            return f"Please enter at least {least} characters."
        if len(value) > most:
            return f"Please enter at most {most} characters."
    return ""
