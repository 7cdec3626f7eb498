"""The rules of which the tables of blocks and elements are made.

A rule takes a value and its JSON pointer and yields what is wrong with it, in the form in which Slack reports it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

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
