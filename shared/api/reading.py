"""Values out of an object of any tolerable shape, by a vocabulary. Pure; `decode` makes models of them.

Objects of one list are mostly alike, so the names at the top of an object are looked up once for each set of
keys; only what is not found there is searched for in what the object nests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from shared.api.vocabulary import NEUTRAL, Vocabulary, fold

DEPTH = 5
"""How deep a value may be nested."""
PLANS = 256
"""How many sets of keys are remembered: a hostile service must not fill the memory."""

Plan = tuple[tuple[str, Callable[[Any], Any], str | None, tuple[str, ...]], ...]
"""For each value: its name, how it is read, the likeliest key at the top of the object, and the other ones."""


Outline = tuple[Any, ...]
"""The keys of nested objects, without the values."""


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
        missing: list[str] = []
        for name, convert, first, others in plan:
            value = None if first is None else convert(item[first])
            for key in others if value is None else ():
                value = convert(item[key])
                if value is not None:
                    break
            found[name] = value
            if value is None:
                missing.append(name)
        if missing:
            self._search(item, found, missing)
        if self._overrides:
            self._obey(item, found)
        return found

    def knows(self, item: Any) -> bool:
        """Whether the object holds anything of this vocabulary."""
        return isinstance(item, dict) and any(value is not None for value in self.read(item).values())

    def _learn(self, keys: tuple[str, ...]) -> Plan:
        if len(self._plans) >= PLANS:
            self._plans.clear()
        folded = [(fold(key), key) for key in keys]
        plan = tuple(
            (name, term.read, *_by_rank(self.vocabulary.ranks[name], folded))
            for name, term in self.vocabulary.terms.items()
        )
        self._plans[keys] = plan
        return plan

    def _obey(self, item: Mapping[str, Any], found: dict[str, Any]) -> None:
        for name, path in self._overrides.items():
            value = self.vocabulary.terms[name].read(follow(item, path))
            found[name] = found[name] if value is None else value

    def _search(self, item: Mapping[str, Any], found: dict[str, Any], missing: list[str]) -> None:
        nested = tuple(
            [(key, _outline(value)) for key, value in item.items() if type(value) is dict and value]
        )
        if nested and not self._reach(item, nested).isdisjoint(missing):
            leaves = list(walk(item))
            for name in missing:
                found[name] = self._pick(name, leaves)

    def _reach(self, item: Mapping[str, Any], nested: Outline) -> frozenset[str]:
        """Which values objects of this outline could hold in what they nest."""
        reach = self._reaches.get(nested)
        if reach is None:
            leaves = {leaf for leaf, _ in walk({key: item[key] for key, _ in nested})}
            ranks = self.vocabulary.ranks
            reach = frozenset(name for name in ranks if not leaves.isdisjoint(ranks[name]))
            if len(self._reaches) >= PLANS:
                self._reaches.clear()
            self._reaches[nested] = reach
        return reach

    def _pick(self, name: str, leaves: list[tuple[str, Any]]) -> Any:
        ranks, convert = self.vocabulary.ranks[name], self.vocabulary.terms[name].read
        named = [(ranks[leaf], value) for leaf, value in leaves if leaf in ranks]
        for _, value in sorted(named, key=lambda pair: pair[0]):
            if (read := convert(value)) is not None:
                return read
        return None


def _outline(item: Mapping[str, Any], depth: int = DEPTH) -> Outline:
    # Lists and `type is` for speed: this is done for every object that lacks a value and nests something.
    return tuple(
        [
            (key, _outline(value, depth - 1) if depth and type(value) is dict else None)
            for key, value in item.items()
        ]
    )


def _by_rank(ranks: Mapping[str, int], folded: list[tuple[str, str]]) -> tuple[str | None, tuple[str, ...]]:
    """The likeliest of the keys, and the others."""
    keys = tuple(key for _, key in sorted((ranks[name], key) for name, key in folded if name in ranks))
    return (keys[0] if keys else None), keys[1:]


def walk(item: Mapping[str, Any], prefix: str = "", depth: int = DEPTH) -> Iterator[tuple[str, Any]]:
    """Folded name and value of everything in the object, the outer before the inner."""
    inner = []
    for key, value in item.items():
        word = fold(str(key))
        name = prefix if word in NEUTRAL else prefix + word
        if isinstance(value, dict):
            inner.append((value, name))
        else:
            yield name, value
    if depth > 1:
        for value, name in inner:
            yield from walk(value, name, depth - 1)


def follow(item: Any, path: str) -> Any:
    """What lies at a dotted path, names compared exactly, then folded; None when nothing does."""
    for part in path.split("."):
        if isinstance(item, list) and part.isdigit() and int(part) < len(item):
            item = item[int(part)]
        elif isinstance(item, dict):
            item = item[part] if part in item else _folded(item, part)
        else:
            return None
    return item


def _folded(item: Mapping[str, Any], part: str) -> Any:
    wanted = fold(part)
    return next((value for key, value in item.items() if fold(key) == wanted), None)
