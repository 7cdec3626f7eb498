"""Filters and sorts the lines of a list. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from shared.domain.card import Tone
from tui.model.lists.columns import WIDE, CellRenderer, Column
from tui.model.lists.lines import Line
from tui.theme.palette import UNICODE

T = TypeVar("T", bound=Line)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrangement:
    """What a person asked of a list; `order` is a column's id, and none is the list's own order."""

    find: str = ""
    """Words that must all occur; `!word` must not, and `status:resting` must in that column. Case is ignored."""
    problems: bool = False
    order: str = ""
    descending: bool = False

    @property
    def plain(self) -> bool:
        return not (self.find.strip() or self.problems or self.order)


def arranged(lines: Sequence[T], arrangement: Arrangement, *, columns: Sequence[Column]) -> Sequence[T]:
    """The lines to show. Sorting is stable, so equal lines stay in the list's own order."""
    if arrangement.plain:
        return lines
    shown: Sequence[T] = lines
    if arrangement.problems:
        shown = [line for line in shown if line.tone in {Tone.WARN, Tone.BAD, Tone.UNKNOWN}]
    if arrangement.find.strip():
        tests = [_test(word, columns) for word in arrangement.find.casefold().split()]
        shown = [line for line in shown if all(test(line) for test in tests)]
    order = {column.id: column.sort for column in columns}.get(arrangement.order)
    if order:
        shown = sorted(shown, key=order, reverse=arrangement.descending)
    return shown


def _test(word: str, columns: Sequence[Column]) -> Callable[[Line], bool]:
    """Whether a line fits one word of a filter; one that names no column is looked for in all of the line."""
    if len(word) > 1 and word.startswith("!"):
        excluded = _test(word[1:], columns)
        return lambda line: not excluded(line)
    name, colon, value = word.partition(":")
    column = next((c for c in columns if name in {c.id, c.title.casefold().replace(" ", "-")}), None)
    if column is not None and colon and value:
        render = column.render
        return lambda line: value in _shown(render, line)
    if name == "domain" and value:
        return lambda line: value in line.key.casefold().rpartition("@")[2]
    return lambda line: word in line.words.casefold()


def _shown(render: CellRenderer, line: Line) -> str:
    return "".join(text for text, _ in render(line, WIDE, UNICODE)).casefold()


def next_order(arrangement: Arrangement, *, columns: Sequence[Column]) -> str:
    ids = ["", *(column.id for column in columns if column.sort)]
    at = ids.index(arrangement.order) if arrangement.order in ids else 0
    return ids[(at + 1) % len(ids)]
