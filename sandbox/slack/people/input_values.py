"""From what a person typed or chose to the `value`, `selected_option`, ... that Slack sends for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sandbox.slack.state.errors import InvalidActionError
from sandbox.slack.state.model import Json

_SIMPLE = {
    **dict.fromkeys(
        ("plain_text_input", "email_text_input", "url_text_input", "number_input"), ("value", "initial_value")
    ),
    **{
        kind: (f"selected_{name}", f"initial_{name}")
        for kind, name in {
            "datepicker": "date",
            "timepicker": "time",
            "datetimepicker": "date_time",
            "users_select": "user",
            "channels_select": "channel",
            "conversations_select": "conversation",
            "multi_users_select": "users",
            "multi_channels_select": "channels",
            "multi_conversations_select": "conversations",
        }.items()
    },
}
"""The fields of each element that hold what is chosen, and what is chosen at first."""
_ONE = {"static_select", "external_select", "radio_buttons", "overflow"}
_SEVERAL = {"multi_static_select", "multi_external_select", "checkboxes"}
UNSET: Any = object()
"""Nothing was chosen: the element keeps its initial value."""


def elements(blocks: list[Json]) -> Iterator[tuple[Json, Json]]:
    """Every element that a person can act on, with its block."""
    for block in blocks:
        inner = block.get("elements", []) if block["type"] == "actions" else []
        for element in [*inner, block.get("accessory"), block.get("element")]:
            if isinstance(element, dict) and "action_id" in element:
                yield block, element


def find(blocks: list[Json], wanted: Json) -> tuple[Json, Json]:
    """The element with an `action_id` (in the block of a `block_id`), or the button with a `text`.

    Raises `InvalidActionError`: there is none; those that there are are listed.
    """
    action_id, block_id, text = (wanted.get(name) for name in ("action_id", "block_id", "text"))
    for block, element in elements(blocks):
        if block_id is not None and block["block_id"] != block_id:
            continue
        if action_id is not None and element["action_id"] == action_id:
            return block, element
        if action_id is None and text is not None and element.get("text", {}).get("text") == text:
            return block, element
    raise _unknown(blocks)


def _unknown(blocks: list[Json]) -> InvalidActionError:
    known = [str(one.get("text", {}).get("text", one["action_id"])) for _, one in elements(blocks)]
    return InvalidActionError(f"no such element; there are: {', '.join(known) or 'none'}")


def names(blocks: list[Json]) -> set[str]:
    return {name for _, element in elements(blocks) for name in _names(element)}


def _names(element: Json) -> set[str]:
    return {element["action_id"], element.get("text", {}).get("text", element["action_id"])}


def named(blocks: list[Json], name: str) -> Json:
    """The ids of the element that goes by `name`; raises `InvalidActionError`."""
    for block, element in elements(blocks):
        if name in _names(element):
            return {"block_id": block["block_id"], "action_id": element["action_id"]}
    raise _unknown(blocks)


def options(element: Json) -> list[Json]:
    grouped = [option for group in element.get("option_groups") or [] for option in group["options"]]
    return [*(element.get("options") or []), *grouped]


def _option(element: Json, chosen: Any, offered: list[Json]) -> Json | None:
    if isinstance(chosen, dict):
        return chosen
    known = [*options(element), *offered]
    return next((option for option in known if option["value"] == str(chosen)), None)


def value_of(element: Json, chosen: Any = UNSET, *, offered: list[Json] | None = None) -> Json:
    """The part of an action or a state that says what is chosen; `offered` are options loaded from the app."""
    kind = element["type"]
    if kind in _SIMPLE:
        name, initial = _SIMPLE[kind]
        many = kind.startswith("multi_")
        value = element.get(initial) if chosen is UNSET else chosen
        return {"type": kind, name: (value or []) if many else (value if value != "" else None)}
    if kind in _ONE:
        found = element.get("initial_option") if chosen is UNSET else _option(element, chosen, offered or [])
        return {"type": kind, "selected_option": found}
    if kind in _SEVERAL:
        return {"type": kind, "selected_options": _several(element, chosen, offered or [])}
    if kind == "file_input":
        return {
            "type": kind,
            "files": [] if chosen is UNSET else list(chosen)[: element.get("max_files", 10)],
        }
    return {"type": kind}


def _several(element: Json, chosen: Any, offered: list[Json]) -> list[Json]:
    if chosen is UNSET:
        return list(element.get("initial_options") or [])
    picked = chosen if isinstance(chosen, list) else [chosen]
    return [option for one in picked if (option := _option(element, one, offered)) is not None]


def state(blocks: list[Json], given: Json, *, offered: list[Json] | None = None) -> Json:
    """`state.values` of a view or message; `given` is by block id and action id, or by action id alone."""
    values: Json = {}
    for block, element in elements(blocks):
        if element["type"] in ("button", "overflow"):
            continue
        chosen = _given(given, block["block_id"], element["action_id"])
        values.setdefault(block["block_id"], {})[element["action_id"]] = value_of(
            element, chosen, offered=offered
        )
    return {"values": values}


def _given(given: Json, block_id: str, action_id: str) -> Any:
    of_block = given.get(block_id)
    if isinstance(of_block, dict) and action_id in of_block:
        return of_block[action_id]
    return given.get(action_id, UNSET)


def missing(blocks: list[Json], filled: Json) -> dict[str, str]:
    """What Slack says under inputs that are required and empty, or outside their limits, by block id."""
    found: dict[str, str] = {}
    for block in blocks:
        if block["type"] == "input":
            element = block["element"]
            answer = filled["values"].get(block["block_id"], {}).get(element["action_id"], {})
            value = next((item for name, item in answer.items() if name != "type"), None)
            complaint = _complaint(block, element, value)
            if complaint:
                found[block["block_id"]] = complaint
    return found


def _complaint(block: Json, element: Json, value: Any) -> str | None:
    if value in (None, "", []):
        return None if block.get("optional") else "Please complete this required field."
    if isinstance(value, str) and element["type"].endswith("_input"):
        if len(value) < element.get("min_length", 0):
            return f"Please enter at least {element['min_length']} characters."
        if len(value) > element.get("max_length", 3000):
            return f"Please enter at most {element.get('max_length', 3000)} characters."
    return None
