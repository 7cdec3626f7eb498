"""Values out of an object of any tolerable shape, by a vocabulary. Pure; `decode` makes models of them.

Fields of the workspace's own may have any name, so names have a fixed precedence that the order of keys doesn't
change: first the documented name in its exact spelling, whatever its value; then the documented name spelled another
way, the outer before the nested; then synonyms, the outer before the nested. A value of the wrong type under the
exact name is unknown: no other name replaces it.

Objects of one list are mostly alike, so the names at the top of an object are looked up once for each set of
keys; only what is not found there is searched for in what the object nests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from .field_names import NEUTRAL, Vocabulary, fold

DEPTH = 5
"""How deep a value may be nested."""
PLANS = 256
"""How many sets of keys are remembered: a hostile service must not fill the memory."""
LONGEST_INDEX = 10
"""Digits of a place in a list."""

Plan = tuple[tuple[str, Callable[[Any], Any], tuple[str, ...], tuple[str, ...], int], ...]
"""For each value: its name, how it is read, its exact path (empty where its first key is missing), the other keys at
the top of the object in order of precedence, and how many of those are the documented name spelled another way."""

Outline = tuple[Any, ...]
"""The keys of nested objects, without the values."""

Leaf = tuple[str, tuple[str, ...], Any]
"""The folded name of a value, its path of keys, and the value."""

ABSENT = object()


class Reader:
    """Reads objects of one vocabulary; `overrides` is the `[fields.…]` section: value -> dotted path."""

    def __init__(self, vocabulary: Vocabulary, overrides: Mapping[str, str] | None = None) -> None:
        self.vocabulary = vocabulary
        self._overrides = {name: path for name, path in (overrides or {}).items() if name in vocabulary.terms}
        self._plans: dict[tuple[str, ...], Plan] = {}
        self._reaches: dict[Outline, frozenset[str]] = {}

    def read(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """Every value of the vocabulary, None where the object has none that can be read."""
        keys = tuple(item)
        plan = self._plans.get(keys) or self._learn(keys)
        found: dict[str, Any] = {}
        unsure: list[str] = []
        for name, convert, exact, others, documented in plan:
            if exact and (value := _at(item, exact)) is not ABSENT:
                is_object = type(value) is dict
                found[name] = self._inside(name, exact, value) if is_object else convert(value)
                if not is_object or found[name] is not None or not self._holds_another(exact, value):
                    continue
            found[name], at = next(
                ((value, at) for at, key in enumerate(others) if (value := convert(item[key])) is not None),
                (None, documented),
            )
            if at >= documented:
                unsure.append(name)
        if unsure:
            self._search(item, found, unsure)
        if self._overrides:
            self._obey(item, found)
        return found

    def knows(self, item: Any) -> bool:
        """Whether the object holds anything of this vocabulary."""
        return isinstance(item, dict) and any(value is not None for value in self.read(item).values())

    def _learn(self, keys: tuple[str, ...]) -> Plan:
        if len(self._plans) >= PLANS:
            self._plans.clear()
        named: list[Leaf] = [(fold(key), (key,), None) for key in keys]
        plan = []
        for name, term in self.vocabulary.terms.items():
            exact = self.vocabulary.paths[name]
            ordered = self._ordered(name, named)
            documented = sum(1 for leaf in ordered if self._is_documented(name, leaf))
            others = tuple(path[0] for _, path, _ in ordered)
            plan.append((name, term.read, exact if exact[0] in keys else (), others, documented))
        self._plans[keys] = tuple(plan)
        return self._plans[keys]

    def _obey(self, item: Mapping[str, Any], found: dict[str, Any]) -> None:
        for name, path in self._overrides.items():
            value = self.vocabulary.terms[name].read(follow(item, path))
            found[name] = found[name] if value is None else value

    def _inside(self, name: str, path: tuple[str, ...], value: Mapping[str, Any]) -> Any:
        """What an object under the exact name holds: `status: {name: …}`."""
        return self._pick(name, list(leaves(_wrapped(path, value))))

    def _holds_another(self, path: tuple[str, ...], value: Mapping[str, Any]) -> bool:
        """Whether the object merely groups other values: `replies: {positive: 3}`."""
        names = {name for name, _, _ in leaves(_wrapped(path, value))}
        return any(not names.isdisjoint(ranks) for ranks in self.vocabulary.ranks.values())

    def _search(self, item: Mapping[str, Any], found: dict[str, Any], unsure: list[str]) -> None:
        nested = tuple(
            [(key, _outline(value)) for key, value in item.items() if type(value) is dict and value]
        )
        if nested and not (reach := self._reach(item, nested)).isdisjoint(unsure):
            every = list(leaves(item))
            for name in reach.intersection(unsure):
                found[name] = self._pick(name, every)

    def _reach(self, item: Mapping[str, Any], nested: Outline) -> frozenset[str]:
        """Which values objects of this outline could hold in what they nest."""
        reach = self._reaches.get(nested)
        if reach is None:
            names = {name for name, _, _ in leaves({key: item[key] for key, _ in nested})}
            ranks = self.vocabulary.ranks
            reach = frozenset(name for name in ranks if not names.isdisjoint(ranks[name]))
            if len(self._reaches) >= PLANS:
                self._reaches.clear()
            self._reaches[nested] = reach
        return reach

    def _pick(self, name: str, every: list[Leaf]) -> Any:
        convert = self.vocabulary.terms[name].read
        values = (convert(value) for _, _, value in self._ordered(name, every))
        return next((value for value in values if value is not None), None)

    def _ordered(self, name: str, every: list[Leaf]) -> list[Leaf]:
        """The leaves that may be this value, by precedence."""
        ranks = self.vocabulary.ranks[name]
        return sorted(
            (leaf for leaf in every if leaf[0] in ranks),
            key=lambda leaf: (
                not self._is_documented(name, leaf),
                len(leaf[1]),
                ranks[leaf[0]],
                _spelled(leaf[1]),
            ),
        )

    def _is_documented(self, name: str, leaf: Leaf) -> bool:
        """Called by the documented name in any spelling, or nested under it."""
        folded, path, _ = leaf
        documented = self.vocabulary.terms[name].names[0]
        return folded == documented or any(fold(key) == documented for key in path)


def _wrapped(path: tuple[str, ...], value: Mapping[str, Any]) -> Mapping[str, Any]:
    for key in reversed(path):
        value = {key: value}
    return value


def _at(item: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = item
    for key in path:
        if type(value) is not dict or key not in value:
            return ABSENT
        value = value[key]
    return value


SPELLINGS = tuple(
    re.compile(pattern)
    for pattern in (
        r"[a-z0-9]+(_[a-z0-9]+)*",
        r"[a-z][A-Za-z0-9]*",
        r"[A-Z][A-Z0-9]*[a-z][A-Za-z0-9]*",
        r"[a-z0-9]+(-[a-z0-9]+)*",
        r"[A-Z0-9]+(_[A-Z0-9]+)*",
    )
)
"""snake_case, camelCase, PascalCase, kebab-case, SCREAMING_CASE: how services usually spell names."""


@lru_cache(maxsize=8192)  # bounded: the names come from outside
def spelling(key: str) -> tuple[int, str]:
    """Sorts keys of one folded name: the usual spellings first, then anything else by its characters."""
    usual = (rank for rank, pattern in enumerate(SPELLINGS) if pattern.fullmatch(key))
    return next(usual, len(SPELLINGS)), key


def _spelled(path: tuple[str, ...]) -> tuple[tuple[int, str], ...]:
    return tuple(spelling(key) for key in path)


def by_precedence(leaf: Leaf) -> tuple[int, tuple[tuple[int, str], ...]]:
    """Sorts leaves of one folded name: the outer before the nested, then by spelling."""
    return len(leaf[1]), _spelled(leaf[1])


def _outline(item: Mapping[str, Any], depth: int = DEPTH) -> Outline:
    # Lists and `type is` for speed: this is done for every object that lacks a value and nests something.
    return tuple(
        [
            (key, _outline(value, depth - 1) if depth and type(value) is dict else None)
            for key, value in item.items()
        ]
    )


def leaves(
    item: Mapping[str, Any], prefix: str = "", above: tuple[str, ...] = (), depth: int = DEPTH
) -> Iterator[Leaf]:
    """Everything in the object that is no object."""
    for key, value in item.items():
        word = fold(key)
        name = prefix if word in NEUTRAL else prefix + word
        if not isinstance(value, dict):
            yield name, (*above, key), value
        elif depth > 1:
            yield from leaves(value, name, (*above, key), depth - 1)


def follow(item: Any, path: str) -> Any:
    """What lies at a dotted path, names compared exactly, then folded; None when nothing does."""
    for part in path.split("."):
        if (
            isinstance(item, list)
            and part.isdecimal()
            and len(part) < LONGEST_INDEX
            and int(part) < len(item)
        ):
            item = item[int(part)]
        elif isinstance(item, dict):
            item = item[part] if part in item else _folded(item, part)
        else:
            return None
    return item


def _folded(item: Mapping[str, Any], part: str) -> Any:
    wanted = fold(part)
    keys = [key for key in item if fold(key) == wanted]
    return item[min(keys, key=spelling)] if keys else None
