"""The format of the service's responses: paths and types, never values (`outreach doctor --shapes`). Pure.

Only the first items of a list are looked at, and a key that looks like data (an id, an address, a name that
keys an object) is written `*`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .models import Inbox, Lead, Sequence, StatsRow, names_of
from .values import fold

MOST_ITEMS = 3
DEPTH = 8
MOST_PATHS = 400
"""Paths kept for one endpoint."""

NAMES = {
    dict: "object",
    list: "list",
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}
FIELD = re.compile(r"[A-Za-z_][A-Za-z_-]{0,39}")
VOCABULARY = (
    "data meta pagination paging error errors code field message reason items leads sequences campaigns "
    "inboxes mailboxes stats rows group webhook attributes added skipped next_cursor has_more secret lead "
    "sequence step variant inbox metrics counts health"
)
KNOWN = frozenset(map(fold, (*VOCABULARY.split(), *names_of(Lead, Sequence, Inbox, StatsRow))))
"""The words of the document and of the models: any other key of an object of objects may be data."""


def shape(value: Any, path: str = "", depth: int = DEPTH) -> Iterator[str]:
    """`path: type` of everything in a value."""
    yield f"{path or '.'}: {NAMES.get(type(value), type(value).__name__)}"
    if not depth:
        return
    if isinstance(value, list):
        for item in value[:MOST_ITEMS]:
            yield from shape(item, f"{path}[]", depth - 1)
    elif isinstance(value, dict):
        is_keyed = all(isinstance(inner, dict) for inner in value.values())
        for key, inner in list(value.items())[:MOST_PATHS]:
            is_field = fold(key) in KNOWN or (not is_keyed and FIELD.fullmatch(key))
            name = key if is_field else "*"
            yield from shape(inner, f"{path}.{name}" if path else name, depth - 1)
