"""A rota: who may get the turn of a reply. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Rota:
    """People who take turns with the interested replies of a route."""

    name: str
    """`routes`, or the id of the channel that has a rota of its own: turns are counted by it."""
    people: tuple[str, ...]
    pass_after: timedelta | None = timedelta(minutes=10)


def next_of(people: Sequence[str], *, last: str, free: Collection[str]) -> str:
    """The first of those who are free after the one who had the last turn; empty if nobody is."""
    start = people.index(last) + 1 if last in people else 0
    return next((one for one in (*people[start:], *people[:start]) if one in free), "")
