"""Composition objects and interactive elements, with the limits of docs.slack.dev/reference/block-kit/block-elements."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from sandbox.slack.blockkit.rules import (
    Rule,
    anything,
    array,
    boolean,
    by_type,
    choice,
    exactly_one,
    number,
    problem,
    shape,
    string,
)

_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:\S+")


def url(value: Any, at: str) -> Iterator[str]:
    yield from string(3000, 1)(value, at)
    if isinstance(value, str) and not _URL.fullmatch(value):
        yield problem("must be a valid URL", at)


def _texts(max_length: int) -> dict[str, Rule]:
    return {
        "plain_text": shape({"text": string(max_length, 1)}, emoji=boolean),
        "mrkdwn": shape({"text": string(max_length, 1)}, verbatim=boolean),
    }


def plain(max_length: int) -> Rule:
    return by_type({"plain_text": _texts(max_length)["plain_text"]})


def text(max_length: int) -> Rule:
    return by_type(_texts(max_length))


def _options(text_rule: Rule, max_items: int) -> Rule:
    return array(_option(text_rule), max_items)


def _option(text_rule: Rule) -> Rule:
    return shape({"text": text_rule, "value": string(150)}, description=text(75), url=url)


_PLAIN, _RICH = plain(75), text(75)
_CONFIRM = shape(
    {"title": plain(100), "text": text(300), "confirm": plain(30), "deny": plain(30)},
    style=choice("primary", "danger"),
)
_FILTER = shape(
    {},
    include=array(choice("im", "mpim", "private", "public"), 4),
    exclude_external_shared_channels=boolean,
    exclude_bot_users=boolean,
)
_GROUPS = array(shape({"label": plain(75), "options": _options(_PLAIN, 100)}), 100)
_IDS, _ID = array(string(64), 100), string(64)


def _element(required: dict[str, Rule] | None = None, /, **optional: Rule) -> Rule:
    common: dict[str, Rule] = {"action_id": string(255, 1), "confirm": _CONFIRM, "focus_on_load": boolean}
    return shape(required or {}, **common, **optional)


def _menu(**optional: Rule) -> Rule:
    return _element(placeholder=plain(150), **optional)


def _multi_menu(**optional: Rule) -> Rule:
    return _menu(max_selected_items=number(1, 1000), **optional)


def _text_input(**optional: Rule) -> Rule:
    return _menu(
        initial_value=string(3000),
        multiline=boolean,
        min_length=number(0, 3000),
        max_length=number(1, 3000),
        dispatch_action_config=anything,
        **optional,
    )


IMAGE = exactly_one(
    shape({"alt_text": string(2000)}, image_url=url, slack_file=anything), "image_url", "slack_file"
)

# The first table is of elements that stand in actions, sections and inputs alike.
ELEMENTS: dict[str, Rule] = {
    "static_select": exactly_one(
        _menu(options=_options(_PLAIN, 100), option_groups=_GROUPS, initial_option=_option(_PLAIN)),
        "options",
        "option_groups",
    ),
    "multi_static_select": exactly_one(
        _multi_menu(
            options=_options(_PLAIN, 100), option_groups=_GROUPS, initial_options=_options(_PLAIN, 100)
        ),
        "options",
        "option_groups",
    ),
    "external_select": _menu(initial_option=_option(_PLAIN), min_query_length=number(0, 1000)),
    "multi_external_select": _multi_menu(
        initial_options=_options(_PLAIN, 100), min_query_length=number(0, 1000)
    ),
    "users_select": _menu(initial_user=_ID),
    "multi_users_select": _multi_menu(initial_users=_IDS),
    "channels_select": _menu(initial_channel=_ID, response_url_enabled=boolean),
    "multi_channels_select": _multi_menu(initial_channels=_IDS),
    "conversations_select": _menu(
        initial_conversation=_ID,
        default_to_current_conversation=boolean,
        response_url_enabled=boolean,
        filter=_FILTER,
    ),
    "multi_conversations_select": _multi_menu(
        initial_conversations=_IDS, default_to_current_conversation=boolean, filter=_FILTER
    ),
    "datepicker": _menu(initial_date=string(10, 10)),
    "timepicker": _menu(initial_time=string(5, 5), timezone=string(64)),
    "datetimepicker": _element(initial_date_time=number(0, 9999999999)),
    "checkboxes": _element({"options": _options(_RICH, 10)}, initial_options=_options(_RICH, 10)),
    "radio_buttons": _element({"options": _options(_RICH, 10)}, initial_option=_option(_RICH)),
}
ACTION_ELEMENTS: dict[str, Rule] = {
    "button": _element(
        {"text": plain(75)},
        url=url,
        value=string(2000),
        style=choice("primary", "danger"),
        accessibility_label=string(75),
    ),
    "overflow": _element({"options": _options(_PLAIN, 5)}),
}
INPUT_ELEMENTS: dict[str, Rule] = {
    "plain_text_input": _text_input(),
    "email_text_input": _text_input(),
    "url_text_input": _text_input(),
    "number_input": _text_input(is_decimal_allowed=boolean, min_value=anything, max_value=anything),
    "file_input": _element(filetypes=array(string(16), 100), max_files=number(1, 10)),
}

IN_ACTIONS = by_type(ELEMENTS | ACTION_ELEMENTS)
IN_SECTION = by_type(ELEMENTS | ACTION_ELEMENTS | {"image": IMAGE})
IN_INPUT = by_type(ELEMENTS | INPUT_ELEMENTS)
IN_CONTEXT = by_type({"image": IMAGE, **_texts(3000)})
