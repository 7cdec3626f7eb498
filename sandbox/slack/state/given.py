"""Validates values for settings and manifests; errors name the field."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from sandbox.slack.state.errors import InvalidActionError

_WORD = re.compile(r"[\x21-\x7e]{1,255}")


def section(body: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    """An object inside others, empty where it is not given."""
    found: Any = body
    for place, name in enumerate(path, start=1):
        found = found.get(name) or {}
        if not isinstance(found, Mapping):
            raise InvalidActionError(f"{'.'.join(path[:place])}: not an object")
    return found  # type: ignore[no-any-return]  # checked above


def objects(value: Any, at: str, *, key: str) -> tuple[dict[str, Any], ...]:
    """A list of objects that have a text called `key`."""
    rows = value or ()
    if not isinstance(rows, list | tuple):
        raise InvalidActionError(f"{at}: not a list")
    if not all(isinstance(one, dict) and isinstance(one.get(key), str) for one in rows):
        raise InvalidActionError(f"{at}: each an object with a {key}")
    return tuple(rows)


def words(value: Any, at: str) -> tuple[str, ...]:
    """A list of words: scopes, events, addresses."""
    found = value or ()
    if not isinstance(found, list | tuple | frozenset) or not all(
        isinstance(one, str) and _WORD.fullmatch(one) for one in found
    ):
        raise InvalidActionError(f"{at}: not a list of words")
    return tuple(found)


def number(value: Any, at: str, *, kind: Callable[[Any], Any] = float) -> Any:
    """A finite number that is not negative."""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        found = -1.0
    if not 0 <= found < math.inf:
        raise InvalidActionError(f"{at}: not a number from 0 on")
    return kind(value)


def text(value: Any, at: str) -> str:
    """A short text on one line, without spaces around it."""
    found = value or ""
    if not isinstance(found, str) or len(found) > 200 or not found.isprintable():
        raise InvalidActionError(f"{at}: not a short text")
    return found.strip()
