"""Which lines of a list are shown, and in which order: filter, faults only, sorting. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from shared.domain.card import Tone
from tui.model.columns import Column
from tui.model.lines import Line

T = TypeVar("T", bound=Line)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrangement:
    """What a person asked of a list; `order` is a column's title, and none is the list's own order."""

    find: str = ""
    """Words that must all occur; `!word` must not. Case is ignored."""
    faults: bool = False
    order: str = ""
    descending: bool = False

    @property
    def plain(self) -> bool:
        return not (self.find.strip() or self.faults or self.order)


def arranged(lines: Sequence[T], arrangement: Arrangement, *, columns: Sequence[Column]) -> Sequence[T]:
    """The lines to show. Sorting is stable, so equal lines stay in the list's own order."""
    if arrangement.plain:
        return lines
    shown: Sequence[T] = lines
    if arrangement.faults:
        shown = [line for line in shown if line.tone in {Tone.WARN, Tone.BAD, Tone.UNKNOWN}]
    if arrangement.find.strip():
        wanted, unwanted = _words(arrangement.find)
        shown = [line for line in shown if _fits(line.words.casefold(), wanted, unwanted)]
    column = next((c for c in columns if c.title == arrangement.order and c.sort), None)
    if column and column.sort:
        shown = sorted(shown, key=column.sort, reverse=arrangement.descending)
    return shown


def _words(find: str) -> tuple[list[str], list[str]]:
    words = re.split(r"\s+", find.strip().casefold())
    return [w for w in words if not w.startswith("!")], [w[1:] for w in words if len(w) > 1 and w[0] == "!"]


def _fits(text: str, wanted: Sequence[str], unwanted: Sequence[str]) -> bool:
    return all(word in text for word in wanted) and not any(word in text for word in unwanted)


def next_order(arrangement: Arrangement, *, columns: Sequence[Column]) -> str:
    titles = ["", *(column.title for column in columns if column.sort)]
    at = titles.index(arrangement.order) if arrangement.order in titles else 0
    return titles[(at + 1) % len(titles)]
