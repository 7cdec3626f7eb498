"""Block Kit's rules as Slack enforces them, and what a notification reads of blocks.

The rules are tables of shapes. A rule takes a value and its JSON pointer, and yields what is wrong
with it in the form in which Slack reports it. Sources: docs.slack.dev/reference/block-kit, and of the
newer blocks .../blocks/data-table-block, data-visualization-block, table-block and rich-text-block;
the SDKs name the fields of cells
(docs.slack.dev/tools/node-slack-sdk/reference/types/interfaces/RawNumberElement).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Literal

# What rules are made of


Rule = Callable[[Any, str], Iterator[str]]


def problem(what: str, pointer: str) -> str:
    return f"{what} [json-pointer:{pointer}]"


def string(max_length: int, min_length: int = 0) -> Rule:
    """A string of `min_length` to `max_length` characters."""

    def check(value: Any, at: str) -> Iterator[str]:
        if not isinstance(value, str):
            yield problem("must be a string", at)
        elif len(value) > max_length:
            yield problem(f"must be less than {max_length + 1} characters", at)
        elif len(value) < min_length:
            yield problem(f"must be more than {min_length - 1} characters", at)

    return check


def number(minimum: float, maximum: float) -> Rule:
    """A number (no boolean) between both ends."""

    def check(value: Any, at: str) -> Iterator[str]:
        if isinstance(value, bool) or not isinstance(value, int | float):
            yield problem("must be a number", at)
        elif not minimum <= value <= maximum:
            yield problem(f"must be between {minimum:g} and {maximum:g}", at)

    return check


def boolean(value: Any, at: str) -> Iterator[str]:
    if not isinstance(value, bool):
        yield problem("must be a boolean", at)


def anything(value: Any, at: str) -> Iterator[str]:
    yield from ()


def choice(*allowed: str) -> Rule:
    """One of a few words."""

    def check(value: Any, at: str) -> Iterator[str]:
        if value not in allowed:
            yield problem(f"must be one of {', '.join(allowed)}", at)

    return check


def array(of: Rule, max_items: int, min_items: int = 1) -> Rule:
    """A list of `min_items` to `max_items` items, each obeying `of`."""

    def check(value: Any, at: str) -> Iterator[str]:
        if not isinstance(value, list):
            yield problem("must be an array", at)
            return
        if len(value) > max_items:
            yield problem(f"no more than {max_items} items allowed", at)
        if len(value) < min_items:
            yield problem(f"must have at least {min_items} items", at)
        for index, item in enumerate(value):
            yield from of(item, f"{at}/{index}")

    return check


def shape(required: Mapping[str, Rule], /, **optional: Rule) -> Rule:
    """An object with these fields and no others; a `type` is checked by whoever chose the shape."""
    known = {"type": anything, **required, **optional}

    def check(value: Any, at: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield problem("must be an object", at)
            return
        for name in required:
            if value.get(name) is None:
                yield problem(f"missing required field: {name}", at)
        for name, field in value.items():
            if name not in known:
                yield problem(f"additional property: {name}", at)
            elif field is not None:
                yield from known[name](field, f"{at}/{name}")

    return check


def by_type(shapes: Mapping[str, Rule]) -> Rule:
    """An object whose `type` picks its shape."""

    def check(value: Any, at: str) -> Iterator[str]:
        kind = value.get("type") if isinstance(value, dict) else None
        if not isinstance(kind, str) or kind not in shapes:
            yield problem(f"unsupported type: {kind}", f"{at}/type")
        else:
            yield from shapes[kind](value, at)

    return check


def exactly_one(rule: Rule, *names: str) -> Rule:
    """`rule`, and exactly one of the fields `names` is there."""
    message = f"must provide exactly one of {', '.join(names)}"
    return _also(rule, message, lambda value: sum(value.get(name) is not None for name in names) == 1)


def at_least_one(rule: Rule, *names: str) -> Rule:
    """`rule`, and at least one of the fields `names` is there and not empty."""
    message = f"must provide at least one of {', '.join(names)}"
    return _also(rule, message, lambda value: any(value.get(name) for name in names))


def _also(rule: Rule, message: str, holds: Callable[[dict[str, Any]], bool]) -> Rule:
    def check(value: Any, at: str) -> Iterator[str]:
        yield from rule(value, at)
        if isinstance(value, dict) and not holds(value):
            yield problem(message, at)

    return check


# Composition objects and elements


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


def _no_file(_value: Any, at: str) -> Iterator[str]:
    """Nothing is uploaded to this Slack, so that no file can be shown."""
    yield problem("invalid slack file", at)


IMAGE = exactly_one(
    shape({"alt_text": string(2000)}, image_url=url, slack_file=_no_file), "image_url", "slack_file"
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


# Rich text


_STYLE = shape(
    {},
    **dict.fromkeys(
        ("bold", "italic", "strike", "code", "underline", "highlight", "client_highlight", "unlink"), boolean
    ),
)
_SOME_ID = string(64, 1)

LEAVES: dict[str, Rule] = {
    "text": shape({"text": string(12_000, 1)}, style=_STYLE),
    "link": shape({"url": url}, text=string(12_000), unsafe=boolean, style=_STYLE),
    "emoji": shape({"name": string(100, 1)}, unicode=string(64), skin_tone=number(1, 6), style=_STYLE),
    "user": shape({"user_id": _SOME_ID}, style=_STYLE),
    "usergroup": shape({"usergroup_id": _SOME_ID}, style=_STYLE),
    "channel": shape({"channel_id": _SOME_ID}, style=_STYLE),
    "team": shape({"team_id": _SOME_ID}, style=_STYLE),
    "broadcast": shape({"range": choice("here", "channel", "everyone")}, style=_STYLE),
    "color": shape({"value": string(16, 1)}, style=_STYLE),
    "date": shape(
        {"timestamp": number(0, 1e11), "format": string(1000, 1)},
        url=url,
        fallback=string(1000, 1),
        style=_STYLE,
    ),
}
_LEAVES = array(by_type(LEAVES), 1000, 0)
_BORDER = number(0, 1)
_SECTION = shape({"elements": _LEAVES})

RICH_ELEMENTS = array(
    by_type(
        {
            "rich_text_section": _SECTION,
            "rich_text_list": shape(
                {
                    "elements": array(by_type({"rich_text_section": _SECTION}), 1000),
                    "style": choice("bullet", "ordered"),
                },
                indent=number(0, 8),
                offset=number(0, 1000),
                border=_BORDER,
            ),
            "rich_text_preformatted": shape({"elements": _LEAVES}, border=_BORDER, language=string(64)),
            "rich_text_quote": shape({"elements": _LEAVES}, border=_BORDER),
        }
    ),
    1000,
)


# Tables and charts


MAX_CELL_CHARACTERS = 10_000
"""Over all cells of all tables of a message."""
MAX_CHARTS = 2
"""Charts in one message."""
_ANY_NUMBER = number(-1e15, 1e15)

_PLAIN_CELLS: dict[str, Rule] = {
    "raw_text": shape({"text": string(MAX_CELL_CHARACTERS, 1)}),
    "raw_number": shape({"value": _ANY_NUMBER, "text": string(MAX_CELL_CHARACTERS, 1)}),
}
CELL = by_type({**_PLAIN_CELLS, "rich_text": shape({"elements": RICH_ELEMENTS}, block_id=string(255))})
_HEADER_CELL = by_type(_PLAIN_CELLS)
COLUMN = shape({}, align=choice("left", "center", "right"), is_wrapped=boolean)


def data_rows(value: Any, at: str) -> Iterator[str]:
    """A header and 1 to 100 rows of 1 to 20 cells, all of one length; no rich text in the header."""
    found = list(array(array(CELL, 20), 101, 2)(value, at))
    yield from found
    if found or not value:
        return
    yield from array(_HEADER_CELL, 20)(value[0], f"{at}/0")
    for place, row in enumerate(value):
        if len(row) != len(value[0]):
            yield problem(f"must have {len(value[0])} cells, as the first row has", f"{at}/{place}")


DATA_TABLE: dict[str, Rule] = {"rows": data_rows, "caption": string(3000, 1)}
DATA_TABLE_OPTIONS: dict[str, Rule] = {
    "page_size": number(1, 100),
    "row_header_column_index": number(0, 19),
}

_LABEL, _TITLE = string(20, 1), string(50)


def _above_zero(value: Any, at: str) -> Iterator[str]:
    yield from _ANY_NUMBER(value, at)
    if isinstance(value, int | float) and value <= 0:
        yield problem("must be greater than 0", at)


_POINTS = array(shape({"label": _LABEL, "value": _ANY_NUMBER}), 20)
_SERIES = array(shape({"name": _LABEL, "data": _POINTS}), 6)
_AXIS = shape({"categories": array(_LABEL, 20)}, x_label=_TITLE, y_label=_TITLE)


def _plotted(value: Any, at: str) -> Iterator[str]:
    """Series over the categories of an axis: every series has its own name, and a point for each category."""
    found = list(shape({"series": _SERIES, "axis_config": _AXIS})(value, at))
    yield from found
    if found:
        return
    names: set[str] = set()
    for place, series in enumerate(value["series"]):
        if series["name"] in names:
            yield problem(f"series name is not unique: {series['name']}", f"{at}/series/{place}/name")
        names.add(series["name"])
        if [point["label"] for point in series["data"]] != value["axis_config"]["categories"]:
            yield problem("labels must match axis_config.categories", f"{at}/series/{place}/data")


CHART = by_type(
    {
        "pie": shape({"segments": array(shape({"label": _LABEL, "value": _above_zero}), 6)}),
        "bar": _plotted,
        "area": _plotted,
        "line": _plotted,
    }
)
CHART_BLOCK: dict[str, Rule] = {"title": string(50, 1), "chart": CHART}


def message_problems(blocks: Sequence[Any], at: str) -> Iterator[str]:
    """What is wrong over all blocks of a message."""
    kinds = [block.get("type") for block in blocks if isinstance(block, dict)]
    if kinds.count("table") > 1:
        yield problem("only_one_table_allowed", at)
    if kinds.count("data_visualization") > MAX_CHARTS:
        yield problem(f"no more than {MAX_CHARTS} data_visualization blocks allowed", at)
    if sum(map(_cell_characters, blocks)) > MAX_CELL_CHARACTERS:
        yield problem(f"table cells must be less than {MAX_CELL_CHARACTERS + 1} characters in total", at)


def _cell_characters(block: Any) -> int:
    if not isinstance(block, dict) or block.get("type") not in ("table", "data_table"):
        return 0
    rows = block.get("rows")
    cells = [cell for row in rows if isinstance(row, list) for cell in row] if isinstance(rows, list) else []
    return sum(_characters(cell) for cell in cells)


def _characters(value: Any) -> int:
    """The letters of a cell: its own text, or all texts inside its rich text."""
    if isinstance(value, list):
        return sum(map(_characters, value))
    if not isinstance(value, dict):
        return 0
    own = value.get("text")
    return (len(own) if isinstance(own, str) else 0) + _characters(value.get("elements"))


# Blocks, and the surfaces that they stand on


Surface = Literal["message", "modal", "home"]

MAX_BLOCKS: dict[Surface, int] = {"message": 50, "modal": 100, "home": 100}
MAX_CHARACTERS = 13_200
"""All blocks of a message together; beyond it Slack says msg_blocks_too_long (slackapi/bolt-js#2509)."""


def _block(required: dict[str, Rule], /, **optional: Rule) -> Rule:
    return shape(required, block_id=string(255), **optional)


_RICH_TEXT = _block({"elements": RICH_ELEMENTS})

BLOCKS: dict[str, Rule] = {
    "section": at_least_one(
        _block({}, text=text(3000), fields=array(text(2000), 10), accessory=IN_SECTION, expand=boolean),
        "text",
        "fields",
    ),
    "header": _block({"text": plain(150)}, level=number(1, 4)),
    "divider": _block({}),
    "context": _block({"elements": array(IN_CONTEXT, 10)}),
    "actions": _block({"elements": array(IN_ACTIONS, 25)}),
    "image": exactly_one(
        _block({"alt_text": string(2000)}, image_url=url, slack_file=_no_file, title=plain(2000)),
        "image_url",
        "slack_file",
    ),
    "input": _block(
        {"label": plain(2000), "element": IN_INPUT},
        hint=plain(2000),
        optional=boolean,
        dispatch_action=boolean,
    ),
    "rich_text": _RICH_TEXT,
    "video": _block(
        {"alt_text": string(2000), "title": plain(200), "video_url": url, "thumbnail_url": url},
        author_name=string(50),
        description=plain(200),
        provider_icon_url=url,
        provider_name=string(50),
        title_url=url,
    ),
}
MESSAGE_BLOCKS: dict[str, Rule] = {
    "table": _block({"rows": array(array(CELL, 20), 100)}, column_settings=array(COLUMN, 20, 0)),
    "data_table": _block(DATA_TABLE, **DATA_TABLE_OPTIONS),
    "data_visualization": _block(CHART_BLOCK),
    "markdown": _block({"text": string(12_000, 1)}),
    "file": _block({"external_id": string(255), "source": string(16)}),
}
"""The blocks that stand in messages only."""
_ON_MESSAGES, _ON_VIEWS = by_type(BLOCKS | MESSAGE_BLOCKS), by_type(BLOCKS)


def problems(
    blocks: Any, *, surface: Surface = "message", at: str = "/blocks", refused: Collection[str] = ()
) -> list[str]:
    """Everything that Slack would refuse in `blocks` on `surface`, each with its JSON pointer.

    `refused`: types of blocks that this workspace does not know, as those of a feature that is still rolled out.
    """
    allowed = _ON_MESSAGES if surface == "message" else _ON_VIEWS
    found = list(array(allowed, MAX_BLOCKS[surface], 0)(blocks, at))
    if not isinstance(blocks, list):
        return found
    found += [
        problem(f"duplicate block_id: {blocks[index]['block_id']}", f"{at}/{index}/block_id")
        for index in _repeated(blocks, "block_id")
    ]
    for index, block in enumerate(blocks):
        if _is(block, "actions") and isinstance(block.get("elements"), list):
            elements = block["elements"]
            names = sorted({elements[place]["action_id"] for place in _repeated(elements, "action_id")})
            found += [problem(f"action_id is not unique: {n}", f"{at}/{index}/elements") for n in names]
    if surface == "message":
        found += message_problems(blocks, at)
    found += [
        problem(f"unsupported type: {block['type']}", f"{at}/{index}/type")
        for index, block in enumerate(blocks)
        if any(_is(block, kind) for kind in refused)
    ]
    return found


def _repeated(items: list[Any], name: str) -> Iterator[int]:
    """The places of the items whose `name` an earlier one has, too."""
    seen: set[str] = set()
    for index, item in enumerate(items):
        value = item.get(name) if isinstance(item, dict) else None
        if isinstance(value, str):
            if value in seen:
                yield index
            seen.add(value)


def _is(block: Any, kind: str) -> bool:
    return isinstance(block, dict) and block.get("type") == kind


def total_size(blocks: Any) -> int:
    return len(json.dumps(blocks, separators=(",", ":"), ensure_ascii=False))


# Notifications


_TEXTS = {"plain_text", "mrkdwn", "text", "markdown", "raw_text"}
_NOT_READ = {"options", "option_groups", "placeholder", "confirm", "hint", "metadata"}
"""Parts that show only when opened or hovered over."""
_CLICKABLE = {"button", "workflow_button"}


def notification(text: str, blocks: list[dict[str, Any]]) -> dict[str, str]:
    """What a notification of the message says: on a desktop from the blocks, on a phone only from `text`.

    https://docs.slack.dev/changelog/2026/07/13/notification-changes doesn't say how much of the blocks is read, and a
    notification has few lines: so it is the first block with something to read.
    """
    read = (" ".join(" ".join(_parts(block)).split()) for block in blocks if block.get("type") != "actions")
    return {"desktop": next(filter(None, read), text), "mobile": text}


def _parts(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for one in value:
            yield from _parts(one)
    elif isinstance(value, dict):
        read = _leaf(value)
        if read is not None:
            yield read
            return
        for name, one in value.items():
            if name not in _NOT_READ:
                yield from _parts(one)


def _leaf(node: dict[str, Any]) -> str | None:
    """The text at the end of a branch; None for a node with branches."""
    kind, text = node.get("type"), node.get("text")
    if kind in _CLICKABLE:
        return f"[{text['text'] if isinstance(text, dict) else ''}]"
    if kind in _TEXTS and isinstance(text, str):
        return text
    others = {
        "link": text or node.get("url"),
        "user": f"<@{node.get('user_id')}>",
        "emoji": f":{node.get('name')}:",
        "image": node.get("alt_text"),
        "date": node.get("fallback"),
    }
    return str(others[kind] or "") if kind in others else None
