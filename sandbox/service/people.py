"""Believable people and companies, all invented; every address ends in a domain reserved for examples."""

from __future__ import annotations

import tomllib
from functools import cache, lru_cache
from importlib import resources
from typing import Any, NamedTuple

from sandbox.service.dice import pick, rolls

_NAMES: dict[str, list[str]] = tomllib.loads(
    resources.files(__package__).joinpath("people.toml").read_text("utf-8")
)
FIRST, LAST = _NAMES["first"], _NAMES["last"]
_TLD = ("example", "test", "example.com", "example.org", "example.net")
_PLAIN = str.maketrans(
    {
        "á": "a", "ã": "a", "å": "a", "ć": "c", "ç": "c", "é": "e", "ë": "e", "í": "i", "ı": "i", "î": "i",
        "ñ": "n", "ó": "o", "ö": "o", "ø": "o", "ü": "u", "'": "",
    }
)  # fmt: skip


class Person(NamedTuple):
    """A person who could become a lead."""

    first_name: str | None
    last_name: str | None
    company: str | None
    email: str
    custom: dict[str, Any]


@lru_cache(maxsize=65_536)
def person(*key: object) -> Person:
    """The person of a key: always the same one, and an address that no other key has."""
    chances = rolls("person", *key)
    first, last = pick(FIRST, chances[0]), pick(LAST, chances[1])
    head, tail = pick(_NAMES["company"], chances[2]), pick(_NAMES["business"], chances[3])
    number = int(chances[6] * 46_656)
    host = f"{head}{tail}.{pick(_TLD, chances[4])}".lower()
    local = f"{plain(first)}.{plain(last)}{number}"
    return Person(
        first_name=first,
        last_name=last,
        company=f"{head} {tail}",
        email=f"{local}@{host}",
        custom={"title": pick(_NAMES["title"], chances[5])},
    )


@cache
def plain(name: str) -> str:
    return name.lower().translate(_PLAIN)
