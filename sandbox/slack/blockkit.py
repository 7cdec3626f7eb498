"""Block Kit's rules as Slack enforces them, and what a notification reads of blocks.

`blockkit.toml` has the rules. A rule takes a value and its JSON pointer, and yields what is wrong with
it in the form in which Slack reports it.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import ChainMap, Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from importlib import resources
from typing import Any, Literal

Rule = Callable[[Any, str], Iterator[str]]


def problem(what: str, pointer: str) -> str:
    return f"{what} [json-pointer:{pointer}]"


# What rules are made of


def string(least: int, most: int) -> Rule:
    def check(value: Any, at: str) -> Iterator[str]:
        if not isinstance(value, str):
            yield problem("must be a string", at)
        elif len(value) > most:
            yield problem(f"must be less than {most + 1} characters", at)
        elif len(value) < least:
            yield problem(f"must be more than {least - 1} characters", at)

    return check


def number(least: float, most: float) -> Rule:
    def check(value: Any, at: str) -> Iterator[str]:
        if isinstance(value, bool) or not isinstance(value, int | float):
            yield problem("must be a number", at)
        elif not least <= value <= most:
            yield problem(f"must be between {least:g} and {most:g}", at)

    return check


def boolean(value: Any, at: str) -> Iterator[str]:
    if not isinstance(value, bool):
        yield problem("must be a boolean", at)


def anything(_value: Any, _at: str) -> Iterator[str]:
    yield from ()


def choice(*allowed: str) -> Rule:
    def check(value: Any, at: str) -> Iterator[str]:
        if value not in allowed:
            yield problem(f"must be one of {', '.join(allowed)}", at)

    return check


def array(of: Rule, least: int, most: int) -> Rule:
    def check(value: Any, at: str) -> Iterator[str]:
        if not isinstance(value, list):
            yield problem("must be an array", at)
            return
        if len(value) > most:
            yield problem(f"no more than {most} items allowed", at)
        if len(value) < least:
            yield problem(f"must have at least {least} items", at)
        for index, item in enumerate(value):
            yield from of(item, f"{at}/{index}")

    return check


def distinct(of: Rule, name: str) -> Rule:
    """A list that obeys `of` and whose items have different values of the field `name`."""

    def check(value: Any, at: str) -> Iterator[str]:
        yield from of(value, at)
        seen: set[str] = set()
        for item in value if isinstance(value, list) else []:
            own = item.get(name) if isinstance(item, dict) else None
            if isinstance(own, str) and own in seen:
                yield problem(f"{name} is not unique: {own}", at)
            elif isinstance(own, str):
                seen.add(own)

    return check


def shape(fields: Mapping[str, Rule], required: Collection[str]) -> Rule:
    """An object with these fields and no others; its `type` is checked by whoever chose the shape."""

    def check(value: Any, at: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield problem("must be an object", at)
            return
        for name in required:
            if value.get(name) is None:
                yield problem(f"missing required field: {name}", at)
        for name, field in value.items():
            if name not in fields:
                yield problem(f"additional property: {name}", at)
            elif field is not None:
                yield from fields[name](field, f"{at}/{name}")

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


def counted(rule: Rule, names: Sequence[str], *, most: int) -> Rule:
    """An object that obeys `rule` and has 1 to `most` of the fields `names`."""
    amount = "exactly" if most == 1 else "at least"

    def check(value: Any, at: str) -> Iterator[str]:
        yield from rule(value, at)
        if isinstance(value, dict) and not 1 <= sum(bool(value.get(name)) for name in names) <= most:
            yield problem(f"must provide {amount} one of {', '.join(names)}", at)

    return check


def text(most: int, **flags: str) -> Rule:
    """A text object; `flags` has its kinds, each with a boolean field that it may have."""
    size = string(1, most)
    shapes = {kind: {"type": anything, "text": size, flag: boolean} for kind, flag in flags.items()}
    return by_type({kind: shape(fields, ["text"]) for kind, fields in shapes.items()})


_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:\S+")


def url(value: Any, at: str) -> Iterator[str]:
    yield from string(1, 3000)(value, at)
    if isinstance(value, str) and not _URL.fullmatch(value):
        yield problem("must be a valid URL", at)


def no_file(_value: Any, at: str) -> Iterator[str]:
    """Nothing is uploaded to this Slack, so that no file can be shown."""
    yield problem("invalid slack file", at)


def above_zero(value: Any, at: str) -> Iterator[str]:
    yield from number(-1e15, 1e15)(value, at)
    if isinstance(value, int | float) and value <= 0:
        yield problem("must be greater than 0", at)


def data_rows(value: Any, at: str) -> Iterator[str]:
    """A header and 1 to 100 rows of 1 to 20 cells, all of one length; no rich text in the header."""
    found = list(rule_of("list 2..101 list 1..20 any cells rich_cells")(value, at))
    yield from found
    if found:
        return
    yield from rule_of("list 1..20 any cells")(value[0], f"{at}/0")
    for place, row in enumerate(value):
        if len(row) != len(value[0]):
            yield problem(f"must have {len(value[0])} cells, as the first row has", f"{at}/{place}")


def plot(value: Any, at: str) -> Iterator[str]:
    """Series over the categories of an axis: every series has its own name, and a point for each category."""
    found = list(rule_of("part plot")(value, at))
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


# The rules of blockkit.toml


RULES: defaultdict[str, dict[str, Rule]] = defaultdict(dict)
"""The shape of each entry, by table."""


def _any(words: str) -> Rule:
    return by_type(ChainMap(*(RULES[table] for table in words.split())))


def _part(name: str) -> Rule:
    # Looked up late: a part may be described after those that consist of it.
    def check(value: Any, at: str) -> Iterator[str]:
        return RULES["part"][name](value, at)

    return check


def _list(words: str) -> Rule:
    size, _, item = words.partition(" ")
    return array(rule_of(item), *_bounds(size))


def _distinct(words: str) -> Rule:
    name, _, rule = words.partition(" ")
    return distinct(rule_of(rule), name)


_MAKERS: dict[str, Callable[[str], Rule]] = {
    "any": _any,
    "part": _part,
    "list": _list,
    "distinct": _distinct,
    "string": lambda words: string(*_bounds(words)),
    "number": lambda words: number(*_bounds(words)),
    "choice": lambda words: choice(*words.split()),
    "plain": lambda most: text(int(most), plain_text="emoji"),
    "text": lambda most: text(int(most), plain_text="emoji", mrkdwn="verbatim"),
}
_NAMED: dict[str, Rule] = {
    rule.__name__: rule for rule in (boolean, anything, url, no_file, above_zero, data_rows)
}


def rule_of(words: str) -> Rule:
    """The rule that the words of a field stand for; `blockkit.toml` explains them."""
    kind, _, rest = words.partition(" ")
    return _NAMED[kind] if kind in _NAMED else _MAKERS[kind](rest)


def _bounds(words: str) -> tuple[Any, Any]:
    least, most = map(json.loads, words.split(".."))
    return least, most


def _shape_of(entry: dict[str, Any]) -> Rule:
    fields, required = {"type": anything}, list[str]()
    counts = [(entry.pop(name, ()), most) for name, most in (("exactly_one", 1), ("at_least_one", 99))]
    for name, words in entry.items():
        fields[name] = rule_of(words.removeprefix("required "))
        if words.startswith("required "):
            required.append(name)
    made = shape(fields, required)
    for names, most in counts:
        made = counted(made, names, most=most) if names else made
    return made


def _read_rules() -> None:
    file = tomllib.loads(resources.files(__package__).joinpath("blockkit.toml").read_text("utf-8"))
    for table, entries in file.items():
        common = entries.pop("common", {})
        for name, entry in entries.items():
            RULES[table][name] = _shape_of(common | entry)
    # Three kinds of charts have the same fields.
    RULES["charts"] |= dict.fromkeys(("bar", "area", "line"), plot)


_read_rules()
_IN_VIEWS, _IN_MESSAGES = rule_of("any blocks"), rule_of("any blocks message_blocks")


# Blocks, and the surfaces that they stand on


Surface = Literal["message", "modal", "home"]

MAX_BLOCKS: dict[Surface, int] = {"message": 50, "modal": 100, "home": 100}
MAX_CHARACTERS = 13_200
"""All blocks of a message together; beyond it Slack says msg_blocks_too_long (slackapi/bolt-js#2509)."""
MAX_CELL_CHARACTERS = 10_000
"""Over all cells of all tables of a message."""
MAX_CHARTS = 2
"""Charts in one message."""


def problems(
    blocks: Any, *, surface: Surface = "message", at: str = "/blocks", refused: Collection[str] = ()
) -> list[str]:
    """What Slack would refuse in `blocks` on `surface`, each with its JSON pointer.

    `refused`: types of blocks that this workspace does not know, as those of a feature that is still rolled out.
    """
    allowed = _IN_MESSAGES if surface == "message" else _IN_VIEWS
    rule = distinct(array(allowed, 0, MAX_BLOCKS[surface]), "block_id")
    found = list(rule(blocks, at))
    # What holds over all blocks can be asked where each is right by itself.
    return found or list(_problems_together(blocks, at, refused))


def _problems_together(blocks: list[dict[str, Any]], at: str, refused: Collection[str]) -> Iterator[str]:
    kinds = Counter(block["type"] for block in blocks)
    if kinds["table"] > 1:
        yield problem("only_one_table_allowed", at)
    if kinds["data_visualization"] > MAX_CHARTS:
        yield problem(f"no more than {MAX_CHARTS} data_visualization blocks allowed", at)
    if sum(_characters(block.get("rows")) for block in blocks) > MAX_CELL_CHARACTERS:
        yield problem(f"table cells must be less than {MAX_CELL_CHARACTERS + 1} characters in total", at)
    for index, block in enumerate(blocks):
        if block["type"] in refused:
            yield problem(f"unsupported type: {block['type']}", f"{at}/{index}/type")


def _characters(value: Any) -> int:
    """The letters of cells: their own texts, or all texts inside their rich text."""
    if isinstance(value, list):
        return sum(map(_characters, value))
    return len(value.get("text") or "") + _characters(value.get("elements") or []) if value else 0


def total_size(blocks: Any) -> int:
    return len(json.dumps(blocks, separators=(",", ":"), ensure_ascii=False))


# Notifications


_READ = {
    "plain_text": "{text}",
    "mrkdwn": "{text}",
    "text": "{text}",
    "markdown": "{text}",
    "raw_text": "{text}",
    "link": "{text}",
    "button": "[{text[text]}]",
    "user": "<@{user_id}>",
    "emoji": ":{name}:",
    "image": "{alt_text}",
    "date": "{fallback}",
}
"""What is read of the objects that are not read part by part."""
_NOT_READ = {"options", "option_groups", "placeholder", "confirm", "hint", "metadata"}
"""Parts that show only when opened or hovered over."""


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
    elif isinstance(value, dict) and value.get("type") in _READ:
        # A link without a text shows its address.
        defaults = {"text": value.get("url"), "fallback": ""}
        yield _READ[value["type"]].format(**defaults | value)
    elif isinstance(value, dict):
        for name, one in value.items():
            if name not in _NOT_READ:
                yield from _parts(one)
