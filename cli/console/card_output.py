"""Shows a Card in a terminal or a pipe: fitted to the width, with color only where wanted, and sanitized.

Everything that came from outside goes through `shared.text.sanitize`; Rich parses no markup.
"""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from cli.console import exit_codes
from shared.commands.base import Result
from shared.domain.card import Button, Card, Column, Fact, Table, Tone
from shared.text import formats
from shared.text.csv_cells import csv_cell
from shared.text.sanitize import visible, visible_json, visible_lines

STYLES = {Tone.GOOD: "green", Tone.WARN: "yellow", Tone.BAD: "red", Tone.UNKNOWN: "magenta", Tone.INFO: ""}
WIDEST_PROSE = 100
QUIET = "dim"
MARKS = {Tone.GOOD: "✓", Tone.WARN: "▲", Tone.BAD: "◆", Tone.UNKNOWN: "?", Tone.INFO: " "}
ASCII_MARKS = {Tone.GOOD: "+", Tone.WARN: "!", Tone.BAD: "X", Tone.UNKNOWN: "?", Tone.INFO: " "}
FAILURE, ASCII_FAILURE = "✗", "x"
"""The mark of a card that reports a failure, in place of that of a bad state."""
BAR_CELLS = 10
SHORTEST_TEXT = 12
"""Columns of the terminal that a text keeps at least; numbers are never cut."""
COLUMN_GAP = 2
UNLIMITED_CELLS = 100_000
"""The width of a pipe, which has none."""
_UNBROKEN = re.compile(r"[ \t]+(?!%)")  # a number keeps its sign: `4.2 %`


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The abilities of a terminal: `width` in columns (None: as wide as it gets), and only ASCII or not."""

    width: int | None = None
    ascii: bool = False
    interactive: bool = False
    """A person looks at it, who may type what comes next."""
    failure: bool = False
    """The card reports a failure."""

    def mark(self, tone: Tone) -> str:
        if self.failure and tone is Tone.BAD:
            return ASCII_FAILURE if self.ascii else FAILURE
        return (ASCII_MARKS if self.ascii else MARKS)[tone]


class _Console(Console):
    """Leaves it to `cli.console.exit_codes` what a reader that went away means."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def show(card: Card, *, stream: TextIO | None = None) -> None:
    """Write the card to `stream` (stdout): fitted to a terminal, unfitted and plain to a pipe."""
    out = stream or sys.stdout
    console = _Console(file=out, highlight=False, markup=False, emoji=False, soft_wrap=True)
    for line in render(card, look_of(out, console)):
        console.print(line)


def answer(result: Result, *, as_json: bool = False) -> int:
    """Show the card, or with `--json` print the rows; returns the exit code."""
    if as_json:
        print_data(result.rows)
    else:
        show(result.card)
    return exit_codes.DONE


def print_data(data: Sequence[Mapping[str, object]]) -> None:
    """`--json`: one array of objects on stdout; what a terminal cannot encode, or would obey, is escaped."""
    text = json.dumps(list(data), ensure_ascii=not _speaks_unicode(sys.stdout), indent=2, default=str)
    data_output(visible_json).write(f"{text}\n")


def print_csv(data: Sequence[Mapping[str, object]]) -> None:
    """`--csv`: a row for each object under the keys of all; no cell is a formula to a spreadsheet."""
    rows = csv.writer(data_output(visible_lines))
    keys = list(dict.fromkeys(key for one in data for key in one))
    if keys:
        rows.writerow(keys)
    rows.writerows([csv_cell(one.get(key)) for key in keys] for one in data)


class DataOutput(Protocol):
    """The stream that data is written to."""

    def write(self, text: str, /) -> object:
        """Write a piece that no escape sequence crosses the end of."""


@dataclass(frozen=True, slots=True)
class _Terminal:
    stream: TextIO
    clean: Callable[[str], str]

    def write(self, text: str, /) -> None:
        self.stream.write(self.clean(text))


def data_output(clean: Callable[[str], str]) -> DataOutput:
    """Stdout for data: exact in a pipe or a file, cleaned on a terminal, which would obey what a lead has written."""
    return _Terminal(sys.stdout, clean) if sys.stdout.isatty() else sys.stdout


def look_of(stream: TextIO, console: Console) -> Look:
    """A terminal's width, or $COLUMNS if it is set; a pipe has none."""
    fitted = stream.isatty() or os.environ.get("COLUMNS", "").isdecimal()
    return Look(
        width=console.width if fitted else None,
        ascii=not _speaks_unicode(stream),
        interactive=stream.isatty(),
    )


def _speaks_unicode(stream: TextIO) -> bool:
    return (stream.encoding or "").lower().replace("-", "") in {"utf8", "utf16", "utf32"}


def render(card: Card, look: Look) -> Iterator[Text]:
    """The lines of a card in the order of showing (shared/domain/card.py)."""
    look = replace(look, failure=card.failure)
    blocks = (
        _head(card, look),
        _facts((*card.facts, *card.details), look),
        _quote(card.quote, look),
        _table(card, look),
        _foot(card, look),
    )
    first = True
    for block in blocks:
        for position, line in enumerate(block):
            if position == 0 and not first:
                yield Text()
            first = False
            yield _encodable(line, look)


def _head(card: Card, look: Look) -> Iterator[Text]:
    mark = look.mark(card.tone).strip()
    style = f"bold {STYLES[card.tone]}"
    yield Text.assemble((f"{mark} " if mark else "", style), (visible(card.title), "bold"))
    for paragraph in card.text:
        yield from _prose(paragraph, look)


def _prose(text: str, look: Look, *, indent: str = "", style: str = "") -> Iterator[Text]:
    for paragraph in visible_lines(text).split("\n"):
        for line in _wrapped(
            paragraph, None if look.width is None else min(look.width, WIDEST_PROSE) - len(indent)
        ):
            yield Text(indent + line, style=style)


def _wrapped(text: str, width: int | None) -> Iterator[str]:
    """Filled at spaces; a word that is wider than the line stands alone, whole, to be copied."""
    if width is None:
        yield text
        return
    line = ""
    for word in _UNBROKEN.split(text.strip()):
        if line and cell_len(line) + 1 + cell_len(word) > width:
            yield line
            line = word
        else:
            line = f"{line} {word}" if line else word
    yield line


def _facts(facts: Sequence[Fact], look: Look) -> Iterator[Text]:
    labels = [visible(fact.label) for fact in facts]
    widest = max(map(cell_len, labels), default=0)
    room = None if look.width is None else max(20, look.width - widest - 4)
    for label, fact in zip(labels, facts, strict=True):
        first, *more = _wrapped(visible(fact.value), room)
        margin = " " * (widest - cell_len(label) + 2)
        yield Text.assemble((label, QUIET), margin, (look.mark(fact.tone), STYLES[fact.tone]), f" {first}")
        yield from (Text(" " * (widest + 4) + line) for line in more)


def _quote(quote: str, look: Look) -> Iterator[Text]:
    if quote.strip():
        yield from _prose(quote.strip("\n"), look, indent="> " if look.ascii else "│ ", style="italic")


def _table(card: Card, look: Look) -> Iterator[Text]:
    if card.table is None or not card.table.rows:
        return
    texts = _cells(card.table, look)
    shown = _fitting(card.table, texts, look)
    yield from _drawn(_grid(card.table, texts, shown, look), look)
    hidden = [
        column.title for place, column in enumerate(card.table.columns) if place not in shown and column.title
    ]
    if hidden:
        yield Text(f"hidden at this width: {', '.join(hidden)}", style=QUIET)
    if (card.table.total or 0) > len(card.table.rows):
        yield Text(f"the first {len(card.table.rows):,} of {card.table.total:,}", style=QUIET)


def _cells(table: Table, look: Look) -> list[list[str]]:
    """The text of each cell, column by column; the numbers of a column have the same decimals."""
    texts = []
    for place, column in enumerate(table.columns):
        cells = [row.cells[place] for row in table.rows]
        numbers = [cell for cell in cells if isinstance(cell, int | float)]
        decimals = 0 if all(float(number).is_integer() for number in numbers) else 1
        texts.append([_cell(cell, column, decimals, look) for cell in cells])
    return texts


def _cell(cell: str | float | None, column: Column, decimals: int, look: Look) -> str:
    if cell is None:
        return formats.UNKNOWN
    if isinstance(cell, str):
        return visible(cell)
    if column.bar:
        return formats.bar(cell, BAR_CELLS, ascii=look.ascii)
    return f"{cell:,.{decimals}f}"


def _fitting(table: Table, texts: Sequence[Sequence[str]], look: Look) -> list[int]:
    """The places of the columns that are shown: bars go first, then the widest texts in the middle."""
    shown = list(range(len(table.columns)))
    if look.width is None:
        return shown
    content = [max(map(cell_len, column), default=0) for column in texts]
    least = [
        max(wide, cell_len(column.title)) if column.numeric else min(wide, SHORTEST_TEXT)
        for column, wide in zip(table.columns, content, strict=True)
    ]
    bars = [place for place in reversed(shown) if table.columns[place].bar]
    middle = [place for place in shown[1:-1] if not table.columns[place].numeric and place not in bars]
    spared = [*bars, *sorted(middle, key=content.__getitem__, reverse=True)]
    for place in spared:
        if sum(least[one] + COLUMN_GAP for one in shown) <= look.width:
            break
        shown.remove(place)
    return shown


def _grid(table: Table, texts: Sequence[Sequence[str]], shown: Sequence[int], look: Look) -> Grid:
    """Rich's table: a text that is too long ends with an ellipsis, and keeps its row to one line."""
    marked = any(row.tone is not Tone.INFO for row in table.rows)
    has_titles = any(column.title for column in table.columns)
    grid = Grid(box=None, pad_edge=False, padding=(0, COLUMN_GAP, 0, 0), show_header=has_titles)
    for place in shown:
        column = table.columns[place]
        margin = "  " if marked and place == shown[0] else ""
        grid.add_column(
            Text(f"{margin}{column.title}", style="bold"),
            justify="right" if column.numeric else "left",
            vertical="bottom",
            no_wrap=column.numeric or column.bar,
        )
    for number, row in enumerate(table.rows):
        cells = [Text(texts[place][number], no_wrap=True, overflow="ellipsis") for place in shown]
        if marked:
            mark = Text.assemble((look.mark(row.tone), STYLES[row.tone]), " ")
            mark.no_wrap, mark.overflow = True, "ellipsis"
            cells[0] = mark.append_text(cells[0])
        grid.add_row(*cells)
    return grid


def _drawn(grid: Grid, look: Look) -> Iterator[Text]:
    console = Console(width=look.width or UNLIMITED_CELLS, markup=False, highlight=False, emoji=False)
    for segments in console.render_lines(grid, pad=False):
        line = Text.assemble(*((part.text, part.style or "") for part in segments))
        line.rstrip()
        yield line


def _foot(card: Card, look: Look) -> Iterator[Text]:
    if look.interactive:
        yield from _hints(card.buttons, look)
    if card.footer:
        yield from _prose(card.footer, look, style=QUIET)


def _hints(buttons: Sequence[Button], look: Look) -> Iterator[Text]:
    """Give each button as a line to type, since nothing can be clicked here."""
    arrow = "->" if look.ascii else "→"
    buttons = [button for button in buttons if button.line]
    typed = [f"{arrow} outreach {visible(button.line)}" for button in buttons]
    widest = max(map(cell_len, typed), default=0)
    for line, button in zip(typed, buttons, strict=True):
        label = visible(button.label)
        whole = f"{line}{' ' * (widest - cell_len(line) + 2)}{label}".rstrip()
        hint = Text(whole, style=QUIET)
        hint.truncate(look.width or UNLIMITED_CELLS, overflow="ellipsis")
        yield hint


def _encodable(line: Text, look: Look) -> Text:
    if look.ascii:
        line.plain = line.plain.replace("…", "~").encode("ascii", "replace").decode("ascii")
    return line
