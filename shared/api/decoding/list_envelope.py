"""Finds the list in a response: bare, under `data`, under its own name, deeper, or keyed by id. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .field_names import LIST_NAMES, NOT_ITEMS, fold
from .fields import spelling

DEPTH = 4

Knows = Callable[[Any], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """The items of a list, and the keys they stood under when it was an object keyed by id."""

    items: tuple[Any, ...] = ()
    keys: tuple[str, ...] | None = None


def locate(body: Any, *, names: tuple[str, ...], knows: Knows, depth: int = DEPTH) -> Located | None:
    """Find the list; `knows` tells whether an object looks like one of its items. None where there is none."""
    if isinstance(body, list):
        return Located(items=tuple(body))
    if not isinstance(body, dict) or not depth:
        return None
    keyed = _keyed(body, knows=knows)
    if keyed and len(keyed.items) > 1:  # before the names: a sequence may be called "Results"
        return keyed
    return (
        _under_a_known_name(body, names=names, knows=knows, depth=depth)
        or keyed
        or _the_only_list(body, knows=knows)
        or _deeper(body, names=names, knows=knows, depth=depth)
    )


def _under_a_known_name(
    body: Mapping[str, Any], *, names: tuple[str, ...], knows: Knows, depth: int
) -> Located | None:
    # The usual spelling comes last, and so wins.
    folded = {fold(key): body[key] for key in sorted(body, key=spelling, reverse=True)}
    there = [folded[name] for name in (*names, *LIST_NAMES) if name in folded]
    located = (locate(value, names=names, knows=knows, depth=depth - 1) for value in there)
    empty = Located() if any(value is None or value == {} for value in there) else None
    return next((found for found in located if found), empty)


def _keyed(body: Mapping[str, Any], *, knows: Knows) -> Located | None:
    items = {key: value for key, value in body.items() if fold(key) not in NOT_ITEMS}
    if not items or not all(isinstance(value, dict) and knows(value) for value in items.values()):
        return None
    return Located(items=tuple(items.values()), keys=tuple(items))


def _the_only_list(body: Mapping[str, Any], *, knows: Knows) -> Located | None:
    beside = {key: value for key, value in body.items() if fold(key) not in NOT_ITEMS}
    lists = [value for value in beside.values() if isinstance(value, list) and all(map(knows, value))]
    is_sure = len(lists) == 1 and (lists[0] or len(beside) == 1)
    return Located(items=tuple(lists[0])) if is_sure else None


def _deeper(body: Mapping[str, Any], *, names: tuple[str, ...], knows: Knows, depth: int) -> Located | None:
    inner = (value for key, value in body.items() if isinstance(value, dict) and fold(key) not in NOT_ITEMS)
    located = (locate(value, names=names, knows=knows, depth=depth - 1) for value in inner)
    return next((found for found in located if found), None)
