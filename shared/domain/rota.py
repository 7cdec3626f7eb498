"""A rota: who may get the turn of a reply. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def next_of(people: Sequence[str], *, last: str, free: Collection[str]) -> str:
    """The first of those who are free after the one who had the last turn; empty if nobody is."""
    start = people.index(last) + 1 if last in people else 0
    return next((one for one in (*people[start:], *people[:start]) if one in free), "")
