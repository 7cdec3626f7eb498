"""Finds values in an object by their possible names. Pure; `decode` makes models of them.

Fields of the workspace's own may have any name, so names have a fixed precedence that the order of keys doesn't
change: first the documented name in its exact spelling, whatever its value; then the documented name spelled another
way, the outer before the nested; then synonyms, the outer before the nested. A value of the wrong type under the
exact name is unknown: no other name replaces it.

Objects of one list are mostly alike, so the paths to try for each value are found once for each outline of keys. The
aliases of pydantic try every name for every object, which took 1.4 times as long for 10,000 inboxes as documented, three
times for nested ones; and they take the first name that is there, even if its value can't be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from .field_names import NEUTRAL, Vocabulary, fold

DEPTH = 5
"""How deep a value may be nested."""
PLANS = 256
"""How many outlines are remembered: a hostile service must not fill the memory."""
LONGEST_INDEX = 10
"""Digits of a place in a list."""

Outline = tuple[Any, ...]
"""The keys of an object, then each key that holds an object with the outline of that."""

Path = tuple[str, ...]

Plan = tuple[tuple[str, Callable[[Any], Any], str | tuple[Path, ...]], ...]
"""For each value: its name, how it is read, and its only key, or the paths to try until one holds a readable value."""

Leaf = tuple[str, Path, Any]
"""The folded name of a value, its path of keys, and the value."""


class Reader:
    """Reads objects of one vocabulary; `overrides` is the `[fields.…]` section: value -> dotted path."""

    def __init__(self, vocabulary: Vocabulary, overrides: Mapping[str, str] | None = None) -> None:
        self.vocabulary = vocabulary
        self._overrides = {name: path for name, path in (overrides or {}).items() if name in vocabulary.terms}
        self._plans: dict[Outline, Plan] = {}
        self._flat = tuple(
            (name, vocabulary.terms[name].read, path[0]) for name, path in vocabulary.paths.items()
        )
        if any(len(path) > 1 for path in vocabulary.paths.values()):
            self._flat = ()

    def read(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """Every value of the vocabulary, None where the object has none that can be read."""
        found = self._read_flat(item)
        if found is None:
            outline = _outline(item)
            found = self._read_planned(item, self._plans.get(outline) or self._plan(outline, item))
        for name, dotted in self._overrides.items():
            value = self.vocabulary.terms[name].read(follow(item, dotted))
            found[name] = found[name] if value is None else value
        return found

    def _read_flat(self, item: Mapping[str, Any]) -> dict[str, Any] | None:
        """The values of an object that has every documented name, whatever its other fields hold; most have.

        None where a name is missing or holds an object: its value may then lie anywhere.
        """
        found: dict[str, Any] = {}
        for name, convert, key in self._flat:
            value = item.get(key, ABSENT)
            if value is ABSENT or type(value) is dict:
                return None
            found[name] = convert(value)
        return found if self._flat else None

    @staticmethod
    def _read_planned(item: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, convert, places in plan:
            if type(places) is str:
                found[name] = convert(item[places])
                continue
            value: Any = None
            for path in places:
                value = item
                for key in path:
                    value = value[key]
                value = convert(value)
                if value is not None:
                    break
            found[name] = value
        return found

    def knows(self, item: Any) -> bool:
        return isinstance(item, dict) and any(value is not None for value in self.read(item).values())

    def _plan(self, outline: Outline, item: Mapping[str, Any]) -> Plan:
        every = list(leaves(item))
        terms = self.vocabulary.terms.items()
        plan = tuple((name, term.read, _places(self._paths(name, item, every))) for name, term in terms)
        if len(self._plans) >= PLANS:
            self._plans.clear()
        self._plans[outline] = plan
        return plan

    def _paths(self, name: str, item: Mapping[str, Any], every: list[Leaf]) -> list[Path]:
        """Where the value may be, by precedence."""
        exact = self.vocabulary.paths[name]
        ordered = self._ordered(name, every)
        inner = _at(item, exact)
        if inner is ABSENT:
            return ordered
        if not isinstance(inner, dict):
            return [exact]
        inside = [path for path in ordered if path[: len(exact)] == exact]
        grouped = {folded for folded, path, _ in every if path[: len(exact)] == exact}
        holds_others = any(not grouped.isdisjoint(ranks) for ranks in self.vocabulary.ranks.values())
        # `replies: {positive: 3}` only groups other values, so `reply_count` beside it still counts the replies.
        return [*inside, *ordered] if holds_others else inside

    def _ordered(self, name: str, every: list[Leaf]) -> list[Path]:
        ranks = self.vocabulary.ranks[name]
        documented = self.vocabulary.terms[name].names[0]

        def precedence(leaf: Leaf) -> tuple[bool, int, int, tuple[tuple[int, str], ...]]:
            folded, path, _ = leaf
            is_documented = folded == documented or any(fold(key) == documented for key in path)
            return not is_documented, len(path), ranks[folded], _spelled(path)

        return [path for _, path, _ in sorted((leaf for leaf in every if leaf[0] in ranks), key=precedence)]


ABSENT = object()


def _places(paths: list[Path]) -> str | tuple[Path, ...]:
    """The key itself where it is the only place: most values, and faster to read."""
    return paths[0][0] if len(paths) == 1 and len(paths[0]) == 1 else tuple(paths)


def _at(item: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = item
    for key in path:
        if type(value) is not dict or key not in value:
            return ABSENT
        value = value[key]
    return value


@lru_cache(maxsize=8192)  # bounded: the names come from outside
def spelling(key: str) -> tuple[int, str]:
    """Sorts keys of one folded name: name, firstName and first_name before Name, and that before NAME."""
    return sum(not character.islower() for character in key), key


def _spelled(path: tuple[str, ...]) -> tuple[tuple[int, str], ...]:
    return tuple(spelling(key) for key in path)


def by_precedence(leaf: Leaf) -> tuple[int, tuple[tuple[int, str], ...]]:
    """Sorts leaves of one folded name: the outer before the nested, then by spelling."""
    return len(leaf[1]), _spelled(leaf[1])


def _outline(item: Mapping[str, Any], depth: int = DEPTH) -> Outline:
    # `type is` for speed: this is done for every object.
    if not depth or dict not in map(type, item.values()):
        return tuple(item)
    inner = [(key, _outline(value, depth - 1)) for key, value in item.items() if type(value) is dict]
    return (*item, *inner)


def leaves(
    item: Mapping[str, Any], prefix: str = "", above: tuple[str, ...] = (), depth: int = DEPTH
) -> Iterator[Leaf]:
    """Everything in the object except nested objects."""
    for key, value in item.items():
        word = fold(key)
        name = prefix if word in NEUTRAL else prefix + word
        if not isinstance(value, dict):
            yield (name if above else word), (*above, key), value
        elif depth > 1:
            yield from leaves(value, name, (*above, key), depth - 1)


def follow(item: Any, path: str) -> Any:
    """What lies at a dotted path, names compared exactly, then folded; None when nothing does."""
    for part in path.split("."):
        if isinstance(item, dict):
            item = item[part] if part in item else _folded(item, part)
            continue
        is_place = part.isdecimal() and len(part) < LONGEST_INDEX
        if not isinstance(item, list) or not is_place or int(part) >= len(item):
            return None
        item = item[int(part)]
    return item


def _folded(item: Mapping[str, Any], part: str) -> Any:
    wanted = fold(part)
    keys = [key for key in item if fold(key) == wanted]
    return item[min(keys, key=spelling)] if keys else None
