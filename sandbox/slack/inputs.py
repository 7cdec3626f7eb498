"""Turns what a person chose or typed into the `value`, `selected_option`, … that Slack sends for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sandbox.slack.errors import InvalidActionError
from sandbox.slack.model import Json

_MEMBERS = {
    "plain_text_input": "value",
    "datetimepicker": "selected_date_time",
    "users_select": "selected_user",
    "conversations_select": "selected_conversation",
    "static_select": "selected_option",
    "external_select": "selected_option",
    "radio_buttons": "selected_option",
    "overflow": "selected_option",
    "checkboxes": "selected_options",
}
"""The name under which Slack sends the choice of each element; a button has none."""
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
    # A browser sends the whole option, since that of an external select is nowhere in the blocks.
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
    member = _MEMBERS.get(element["type"])
    if member is None:
        return {"type": element["type"]}
    if chosen is UNSET:
        value = element.get(f"initial_{member.removeprefix('selected_')}")
    elif member == "selected_option":
        value = _option(element, chosen, offered or [])
    elif member == "selected_options":
        picked = chosen if isinstance(chosen, list) else [chosen]
        found = [_option(element, one, offered or []) for one in picked]
        value = [one for one in found if one is not None]
    else:
        value = None if chosen == "" else chosen
    return {"type": element["type"], member: value or [] if member.endswith("s") else value}


def state(blocks: list[Json], given: Json, *, offered: list[Json] | None = None) -> Json:
    """Return `state` of a view or message.

    `given` has the values by block id and action id, or by action id alone.
    """
    values: Json = {}
    for block, element in elements(blocks):
        # They act and hold nothing, so that Slack leaves them out of the state.
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
    # A button's own fields come back; of a menu only what was chosen does.
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
    if isinstance(value, str) and _MEMBERS[element["type"]] == "value":
        least, most = element.get("min_length", 0), element.get("max_length", 3000)
        if len(value) < least:
            return f"Please enter at least {least} characters."
        if len(value) > most:
            return f"Please enter at most {most} characters."
    return ""
