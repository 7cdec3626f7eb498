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
    """An absolute address of at most 3,000 characters."""
    yield from string(most=3000, least=1)(value, at)
    if isinstance(value, str) and not _URL.fullmatch(value):
        yield problem("must be a valid URL", at)


def plain(most: int, least: int = 1) -> Rule:
    return by_type({"plain_text": shape({"text": string(most=most, least=least)}, {"emoji": boolean})})


def text(most: int, least: int = 1) -> Rule:
    """A plain_text or mrkdwn object."""
    mrkdwn = shape({"text": string(most=most, least=least)}, {"verbatim": boolean})
    return by_type(
        {
            "plain_text": shape({"text": string(most=most, least=least)}, {"emoji": boolean}),
            "mrkdwn": mrkdwn,
        }
    )


CONFIRM = shape(
    {"title": plain(100), "text": text(300), "confirm": plain(30), "deny": plain(30)},
    {"style": choice("primary", "danger")},
)


def option(rule: Rule) -> Rule:
    """An option whose text obeys `rule`."""
    return shape(
        {"text": rule, "value": string(most=150)},
        {"description": text(75), "url": url},
    )


OPTION = option(plain(75))
LISTED = option(text(75))
GROUP = shape({"label": plain(75), "options": array(OPTION, most=100)})

_common = {"action_id": string(most=255, least=1), "confirm": CONFIRM, "focus_on_load": boolean}
_menu = {**_common, "placeholder": plain(150)}
_many = {**_menu, "max_selected_items": number(least=1, most=1000)}
_choices = {"options": array(OPTION, most=100), "option_groups": array(GROUP, most=100)}
_filter = shape(
    {},
    {
        "include": array(choice("im", "mpim", "private", "public"), most=4),
        "exclude_external_shared_channels": boolean,
        "exclude_bot_users": boolean,
    },
)
_ids = array(string(most=64), most=100)


def _text_input(extra: dict[str, Rule]) -> Rule:
    fields = {
        "initial_value": string(most=3000),
        "multiline": boolean,
        "min_length": number(least=0, most=3000),
        "max_length": number(least=1, most=3000),
        "dispatch_action_config": anything,
        **extra,
    }
    return shape({}, {**_menu, **fields})


IMAGE: Rule = exactly_one(
    shape({"alt_text": string(most=2000)}, {"image_url": url, "slack_file": anything}),
    "image_url",
    "slack_file",
)

BUTTON: Rule = shape(
    {"text": plain(75)},
    {
        **_common,
        "url": url,
        "value": string(most=2000),
        "style": choice("primary", "danger"),
        "accessibility_label": string(most=75),
    },
)

ELEMENTS: dict[str, Rule] = {
    "button": BUTTON,
    "static_select": exactly_one(
        shape({}, {**_menu, **_choices, "initial_option": OPTION}), "options", "option_groups"
    ),
    "multi_static_select": exactly_one(
        shape({}, {**_many, **_choices, "initial_options": array(OPTION, most=100)}),
        "options",
        "option_groups",
    ),
    "external_select": shape(
        {}, {**_menu, "initial_option": OPTION, "min_query_length": number(least=0, most=1000)}
    ),
    "multi_external_select": shape(
        {},
        {
            **_many,
            "initial_options": array(OPTION, most=100),
            "min_query_length": number(least=0, most=1000),
        },
    ),
    "users_select": shape({}, {**_menu, "initial_user": string(most=64)}),
    "multi_users_select": shape({}, {**_many, "initial_users": _ids}),
    "channels_select": shape(
        {}, {**_menu, "initial_channel": string(most=64), "response_url_enabled": boolean}
    ),
    "multi_channels_select": shape({}, {**_many, "initial_channels": _ids}),
    "conversations_select": shape(
        {},
        {
            **_menu,
            "initial_conversation": string(most=64),
            "default_to_current_conversation": boolean,
            "response_url_enabled": boolean,
            "filter": _filter,
        },
    ),
    "multi_conversations_select": shape(
        {},
        {
            **_many,
            "initial_conversations": _ids,
            "default_to_current_conversation": boolean,
            "filter": _filter,
        },
    ),
    "overflow": shape({"options": array(OPTION, most=5)}, _common),
    "datepicker": shape({}, {**_menu, "initial_date": string(most=10, least=10)}),
    "timepicker": shape({}, {**_menu, "initial_time": string(most=5, least=5), "timezone": string(most=64)}),
    "datetimepicker": shape({}, {**_common, "initial_date_time": number(least=0, most=9999999999)}),
    "checkboxes": shape(
        {"options": array(LISTED, most=10)}, {**_common, "initial_options": array(LISTED, most=10)}
    ),
    "radio_buttons": shape({"options": array(LISTED, most=10)}, {**_common, "initial_option": LISTED}),
    "plain_text_input": _text_input({}),
    "email_text_input": _text_input({}),
    "url_text_input": _text_input({}),
    "number_input": _text_input(
        {"is_decimal_allowed": boolean, "min_value": anything, "max_value": anything}
    ),
    "file_input": shape(
        {},
        {
            **_common,
            "filetypes": array(string(most=16), most=100),
            "max_files": number(least=1, most=10),
        },
    ),
}

_TYPED = {"plain_text_input", "email_text_input", "url_text_input", "number_input", "file_input"}

IN_ACTIONS = by_type({name: rule for name, rule in ELEMENTS.items() if name not in _TYPED})
IN_SECTION = by_type({**{n: r for n, r in ELEMENTS.items() if n not in _TYPED}, "image": IMAGE})
IN_INPUT = by_type({name: rule for name, rule in ELEMENTS.items() if name not in ("button", "overflow")})
IN_CONTEXT = by_type(
    {
        "image": IMAGE,
        "plain_text": shape({"text": string(most=3000, least=1)}, {"emoji": boolean}),
        "mrkdwn": shape({"text": string(most=3000, least=1)}, {"verbatim": boolean}),
    }
)
