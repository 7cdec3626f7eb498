"""The few words in which Block Kit's limits are written down.

A rule takes a value and its JSON pointer and yields what is wrong with it, in the form in which Slack says it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

Rule = Callable[[Any, str], Iterator[str]]


def problem(what: str, pointer: str) -> str:
    return f"{what} [json-pointer:{pointer}]"


def string(*, most: int, least: int = 0) -> Rule:
    """A string of `least` to `most` characters."""

    def check(value: Any, at: str) -> Iterator[str]:
        if not isinstance(value, str):
            yield problem("must be a string", at)
        elif len(value) > most:
            yield problem(f"must be less than {most + 1} characters", at)
        elif len(value) < least:
            yield problem(f"must be more than {least - 1} characters", at)

    return check


def number(*, least: float, most: float) -> Rule:
    """A number (no boolean) between both ends."""

    def check(value: Any, at: str) -> Iterator[str]:
        if isinstance(value, bool) or not isinstance(value, int | float):
            yield problem("must be a number", at)
        elif not least <= value <= most:
            yield problem(f"must be between {least:g} and {most:g}", at)

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


def array(of: Rule, *, most: int, least: int = 1) -> Rule:
    """A list of `least` to `most` items, each obeying `of`."""

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


def shape(required: Mapping[str, Rule], optional: Mapping[str, Rule] | None = None) -> Rule:
    """An object with these fields and no others; a `type` is checked by whoever chose the shape."""
    known = {**required, **(optional or {}), "type": anything}

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

    def check(value: Any, at: str) -> Iterator[str]:
        yield from rule(value, at)
        if isinstance(value, dict) and sum(value.get(name) is not None for name in names) != 1:
            yield problem(f"must provide exactly one of {', '.join(names)}", at)

    return check


def at_least_one(rule: Rule, *names: str) -> Rule:
    """`rule`, and at least one of the fields `names` is there."""

    def check(value: Any, at: str) -> Iterator[str]:
        yield from rule(value, at)
        if isinstance(value, dict) and not any(value.get(name) for name in names):
            yield problem(f"must provide at least one of {', '.join(names)}", at)

    return check
