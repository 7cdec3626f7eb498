"""Believable people, all invented, and what they write; every address ends in a domain reserved for examples."""

from __future__ import annotations

import datetime as dt
from functools import cache, lru_cache
from typing import Any, NamedTuple

from sandbox.data import read_toml
from sandbox.service.dice import pick, rolls

_NAMES: dict[str, list[str]] = read_toml(__file__, "people.toml")
FIRST, LAST = _NAMES["first"], _NAMES["last"]
_TLD = ("example", "test", "example.com", "example.org", "example.net")
_PLAIN = str.maketrans("áãåćçéëíıîñóöøü", "aaacceeiiinooou", "'")


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


_TEXTS: dict[str, dict[str, list[str]]] = read_toml(__file__, "reply_texts.toml")
_LANGUAGES = ("en",) * 14 + ("de",) * 2 + ("fr",) * 2 + ("es",) * 2


def reply_text(kind: str, *, key: object, me: str, lead: Person, date: dt.date) -> str:
    """The text of a reply: `interested`, `reply`, `again`, `ooo` or `unsubscribe`; the same key gives the same text.

    `me` is the first name of the sender, `date` the day on which an absent lead is back.
    """
    chances = rolls("reply", kind, key)
    # A lead writes in one language, whatever the kind.
    texts = _TEXTS[pick(_LANGUAGES, rolls("language", lead.email)[0])]
    names = {
        "me": me,
        "first": lead.first_name or "",
        "last": lead.last_name or "",
        "company": lead.company or "our company",
        "colleague": f"{pick(FIRST, chances[4])} {pick(LAST, chances[5])}",
        "date": _spell(date, texts, chances[6]),
    }
    return _compose(kind, texts, chances).format(**names).strip()


def _compose(kind: str, texts: dict[str, list[str]], chances: list[float]) -> str:
    if kind == "ooo":
        return f"{pick(texts['away'], chances[0])} {pick(texts['contact'], chances[1])}"
    greeting, sentence = pick(texts["greeting"], chances[0]), pick(texts[kind], chances[1])
    if not greeting.endswith(", ") and not sentence.startswith("{"):
        sentence = sentence[0].upper() + sentence[1:]
    question = f" {pick(texts['question'], chances[2])}" if kind == "interested" else ""
    return f"{greeting}{sentence}{question}\n{pick(texts['closing'], chances[3])}"


def _spell(date: dt.date, texts: dict[str, list[str]], chance: float) -> str:
    month = texts["months"][date.month - 1]
    return pick(texts["dates"], chance).format(
        d=date.day,
        dd=f"{date.day:02}",
        mm=f"{date.month:02}",
        yyyy=date.year,
        month=month,
        mon=month[:3],
        weekday=texts["weekdays"][date.weekday()],
    )
