"""The format of the service's responses: paths and types, never values (`outreach doctor --shapes`). Pure.

Only the first items of a list are looked at, and a key that looks like data (an id, an address, a name that
keys an object) is written `*`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .models import known_names
from .values import fold

ITEMS = 3
DEPTH = 8
MOST = 400
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

KNOWN = frozenset(
    fold(name)
    for name in (
        *(
            "data",
            "meta",
            "pagination",
            "paging",
            "error",
            "errors",
            "code",
            "field",
            "message",
            "reason",
            "items",
        ),
        *(
            "leads",
            "sequences",
            "campaigns",
            "inboxes",
            "mailboxes",
            "stats",
            "rows",
            "group",
            "webhook",
            "attributes",
        ),
        *(
            "added",
            "skipped",
            "next_cursor",
            "has_more",
            "secret",
            "lead",
            "sequence",
            "step",
            "variant",
            "inbox",
        ),
        *("metrics", "counts", "health", *known_names()),
    )
)
"""The words of the document and of the models: any other key of an object of objects may be data."""


class ShapeLog:
    """Endpoint -> the `path: type` lines seen so far."""

    def __init__(self) -> None:
        self._seen: dict[str, set[str]] = {}

    @property
    def seen(self) -> Mapping[str, frozenset[str]]:
        """A copy, to keep."""
        return {endpoint: frozenset(lines) for endpoint, lines in self._seen.items()}

    def note(self, endpoint: str, body: Any) -> None:
        """Remember the shape of one answer."""
        lines = self._seen.setdefault(endpoint, set())
        for line in shape(body):
            if len(lines) >= MOST:
                return
            lines.add(line)


def shape(value: Any, path: str = "", depth: int = DEPTH) -> Iterator[str]:
    """`path: type` of everything in a value."""
    yield f"{path or '.'}: {NAMES.get(type(value), type(value).__name__)}"
    if not depth:
        return
    if isinstance(value, list):
        for item in value[:ITEMS]:
            yield from shape(item, f"{path}[]", depth - 1)
    elif isinstance(value, dict):
        is_keyed = _is_keyed(value)
        for key, inner in list(value.items())[:MOST]:
            yield from shape(inner, _joined(path, _name(key, is_keyed=is_keyed)), depth - 1)


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _is_keyed(value: Mapping[str, Any]) -> bool:
    """Its keys are data: every value is an object, and hardly a key is a word of the vocabulary."""
    return all(isinstance(inner, dict) for inner in value.values()) and not all(
        fold(key) in KNOWN for key in value
    )


def _name(key: str, *, is_keyed: bool) -> str:
    if fold(key) in KNOWN:
        return key
    return "*" if is_keyed or not FIELD.fullmatch(key) else key
