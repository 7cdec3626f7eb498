"""Block Kit's rules as Slack enforces them.

`blockkit.toml` has the rules. What is wrong is told in the form in which Slack reports it.
"""

from __future__ import annotations

import json
import re
from collections import ChainMap
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

from sandbox.data import read_toml

Check = Callable[[str, Any, str], Iterator[str]]
"""Takes the words of a rule after its kind, a value and its JSON pointer."""


class Shape(NamedTuple):
    """The fields of an object with their rules; of `counted` 1 to `most` are there."""

    fields: dict[str, str]
    counted: Sequence[str]
    most: int


def _read_shapes() -> dict[str, dict[str, Shape]]:
    tables: dict[str, dict[str, Shape]] = {}
    file = read_toml(__file__, "blockkit.toml")
    for table, entries in file.items():
        common = entries.pop("common", {})
        tables[table] = {}
        for name, entry in entries.items():
            one, some = entry.pop("exactly_one", ()), entry.pop("at_least_one", ())
            tables[table][name] = Shape(common | entry, one or some, most=1 if one else len(some))
    return tables


SHAPES = _read_shapes()
"""The objects of each table, by name."""


def problem(what: str, pointer: str) -> str:
    return f"{what} [json-pointer:{pointer}]"


def check(rule: str, value: Any, at: str) -> Iterator[str]:
    """Find what a value has that is against a rule; `blockkit.toml` explains their words."""
    kind, _, words = rule.partition(" ")
    return _CHECKS[kind](words, value, at)


def check_shape(shape: Shape, value: Any, at: str) -> Iterator[str]:
    """Find what an object has that it must not have, and what it lacks; who chose the shape checked its `type`."""
    if not isinstance(value, dict):
        yield problem("must be an object", at)
        return
    for name, rule in shape.fields.items():
        if rule.startswith("required ") and value.get(name) is None:
            yield problem(f"missing required field: {name}", at)
    for name, field in value.items():
        if name not in shape.fields and name != "type":
            yield problem(f"additional property: {name}", at)
        elif field is not None and name != "type":
            yield from check(shape.fields[name].removeprefix("required "), field, f"{at}/{name}")
    there = sum(bool(value.get(name)) for name in shape.counted)
    if shape.counted and not 1 <= there <= shape.most:
        amount = "exactly" if shape.most == 1 else "at least"
        yield problem(f"must provide {amount} one of {', '.join(shape.counted)}", at)


@cache
def _bounds(words: str) -> tuple[Any, Any]:
    least, most = map(json.loads, words.split(".."))
    return least, most


def _string(words: str, value: Any, at: str) -> Iterator[str]:
    least, most = _bounds(words)
    if not isinstance(value, str):
        yield problem("must be a string", at)
    elif len(value) > most:
        yield problem(f"must be less than {most + 1} characters", at)
    elif len(value) < least:
        yield problem(f"must be more than {least - 1} characters", at)


def _number(words: str, value: Any, at: str) -> Iterator[str]:
    least, most = _bounds(words)
    if isinstance(value, bool) or not isinstance(value, int | float):
        yield problem("must be a number", at)
    elif not least <= value <= most:
        yield problem(f"must be between {least:g} and {most:g}", at)


def _boolean(_words: str, value: Any, at: str) -> Iterator[str]:
    if not isinstance(value, bool):
        yield problem("must be a boolean", at)


def _anything(_words: str, _value: Any, _at: str) -> Iterator[str]:
    yield from ()


def _choice(words: str, value: Any, at: str) -> Iterator[str]:
    if value not in words.split():
        yield problem(f"must be one of {', '.join(words.split())}", at)


def _list(words: str, value: Any, at: str) -> Iterator[str]:
    size, _, rule = words.partition(" ")
    least, most = _bounds(size)
    if not isinstance(value, list):
        yield problem("must be an array", at)
        return
    if len(value) > most:
        yield problem(f"no more than {most} items allowed", at)
    if len(value) < least:
        yield problem(f"must have at least {least} items", at)
    for index, item in enumerate(value):
        yield from check(rule, item, f"{at}/{index}")


def _distinct(words: str, value: Any, at: str) -> Iterator[str]:
    name, _, rule = words.partition(" ")
    yield from check(rule, value, at)
    seen: set[str] = set()
    for item in value if isinstance(value, list) else []:
        own = item.get(name) if isinstance(item, dict) else None
        if isinstance(own, str) and own in seen:
            yield problem(f"{name} is not unique: {own}", at)
        elif isinstance(own, str):
            seen.add(own)


def _any(words: str, value: Any, at: str) -> Iterator[str]:
    kind = value.get("type") if isinstance(value, dict) else None
    shapes = ChainMap(*(SHAPES[table] for table in words.split()))
    if isinstance(kind, str) and kind in shapes:
        yield from check_shape(shapes[kind], value, at)
    else:
        yield problem(f"unsupported type: {kind}", f"{at}/type")


def _part(name: str, value: Any, at: str) -> Iterator[str]:
    return check_shape(SHAPES["part"][name], value, at)


def _text(most: str, value: Any, at: str, *, tables: str = "plain mrkdwn") -> Iterator[str]:
    yield from _any(tables, value, at)
    if isinstance(value, dict) and isinstance(value.get("text"), str):
        yield from _string(f"1..{most}", value["text"], f"{at}/text")


def _plain(most: str, value: Any, at: str) -> Iterator[str]:
    return _text(most, value, at, tables="plain")


_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:\S+")


def _url(_words: str, value: Any, at: str) -> Iterator[str]:
    yield from _string("1..3000", value, at)
    if isinstance(value, str) and not _URL.fullmatch(value):
        yield problem("must be a valid URL", at)


def _no_file(_words: str, _value: Any, at: str) -> Iterator[str]:
    """Nothing is uploaded to this Slack, so that no file can be shown."""
    yield problem("invalid slack file", at)


def _same_length(rule: str, value: Any, at: str) -> Iterator[str]:
    """A list of rows, all of one length; there is no rich text in the header."""
    found = list(check(rule, value, at))
    yield from found
    if found:
        return
    yield from check("list 1..20 any cells", value[0], f"{at}/0")
    for place, row in enumerate(value):
        if len(row) != len(value[0]):
            yield problem(f"must have {len(value[0])} cells, as the first row has", f"{at}/{place}")


_CHECKS: dict[str, Check] = {
    "string": _string,
    "number": _number,
    "boolean": _boolean,
    "anything": _anything,
    "choice": _choice,
    "list": _list,
    "distinct": _distinct,
    "any": _any,
    "part": _part,
    "text": _text,
    "plain": _plain,
    "url": _url,
    "no_file": _no_file,
    "same_length": _same_length,
}


# Blocks, and the surfaces that they stand on


Surface = Literal["message", "modal", "home"]

MAX_BLOCKS: dict[Surface, int] = {"message": 50, "modal": 100, "home": 100}
MAX_CHARACTERS = 13_200
"""All blocks of a message together; beyond it Slack says msg_blocks_too_long (slackapi/bolt-js#2509)."""
MAX_CELL_CHARACTERS = 10_000
"""The most characters in all cells of all tables of a message."""


def problems(
    blocks: Any, *, surface: Surface = "message", at: str = "/blocks", refused: Collection[str] = ()
) -> list[str]:
    """List what Slack would refuse in `blocks` on `surface`, each with its JSON pointer.

    `refused`: types of blocks that this workspace does not know, as those of a feature that is still rolled out.
    """
    allowed = "blocks message_blocks" if surface == "message" else "blocks"
    found = list(check(f"distinct block_id list 0..{MAX_BLOCKS[surface]} any {allowed}", blocks, at))
    # What holds over all blocks can be asked where each is right by itself.
    return found or list(_problems_together(blocks, at, refused))


def _problems_together(blocks: list[dict[str, Any]], at: str, refused: Collection[str]) -> Iterator[str]:
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
