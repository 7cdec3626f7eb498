"""Shows a Card in a terminal or a pipe with Rich, and prints data as JSON or CSV.

What came from outside is sanitized here, and Rich is told to read no markup, emoji or highlights in it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console, Group, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from cli.console import exit_codes
from shared.commands.base import Result
from shared.domain.card import Card, Row, Tone
from shared.text import formats
from shared.text.csv_cells import csv_lines
from shared.text.sanitize import visible, visible_json, visible_lines
from shared.text.tokenize import split

MARKS = {
    Tone.GOOD: ("✓", "green"),
    Tone.WARN: ("▲", "yellow"),
    Tone.BAD: ("◆", "red"),
    Tone.UNKNOWN: ("?", "magenta"),
    Tone.INFO: (" ", ""),
}
"""The mark of each tone, and its color."""
FAILURE = "✗"
"""The mark of a card that reports a failure, in place of that of a bad state."""
QUIET = "dim"
PIPE_COLUMNS = 100_000
"""A pipe has no width: nothing in it is wrapped or cut."""
NARROW_COLUMNS = 72
"""Below this, a table has the columns that its card names for little space, as on a phone."""


def show(card: Card, *, stream: TextIO | None = None, bare: bool = False) -> None:
    """Write the card to `stream` (stdout): fitted to a terminal or to $COLUMNS, unfitted and plain to a pipe.

    A card with a table that is shown `bare` is its table alone.
    """
    out = stream or sys.stdout
    # A program that captures the output says by $COLUMNS how wide it will show it.
    is_fitted = out.isatty() or os.environ.get("COLUMNS", "").isdecimal()
    width = None if is_fitted else PIPE_COLUMNS
    console = Console(file=out, width=width, highlight=False, markup=False, emoji=False)
    table = list(_table(card, console.width))
    blocks = [_head(card), _facts(card), _quote(card), table, _foot(card, console)]
    lines: list[RenderableType] = []
    for block in [table] if bare and table else blocks:
        drawn = list(block)
        lines += ["", *drawn] if lines and drawn else drawn
    # Captured, because Rich fills cells with spaces to the end of the line.
    with console.capture() as captured:
        console.print(Group(*lines))
    text = re.sub(r" +$", "", captured.get(), flags=re.MULTILINE)
    # Our marks would fail in the middle of a card where a stream has an older encoding.
    out.write(text.encode(out.encoding or "utf-8", "replace").decode(out.encoding or "utf-8"))


def _mark(tone: Tone, card: Card) -> Text:
    mark, style = MARKS[tone]
    return Text(FAILURE if card.failure and tone is Tone.BAD else mark, style=style)


def _head(card: Card) -> Iterator[RenderableType]:
    title = Text(visible(card.title), style="bold")
    yield title if card.tone is Tone.INFO else Text.assemble(_mark(card.tone, card), " ", title)
    yield from (Text(visible_lines(text)) for text in card.text)


def _facts(card: Card) -> Iterator[RenderableType]:
    grid = Grid.grid(padding=(0, 1, 0, 0))
    for fact in (*card.facts, *card.details):
        label = Text(f"{visible(fact.label)} ", style=QUIET)
        grid.add_row(label, _mark(fact.tone, card), Text(visible(fact.value)))
    if grid.row_count:
        yield grid


def _quote(card: Card) -> Iterator[RenderableType]:
    text = visible_lines(card.quote.strip())
    if text:
        yield Padding(Text(text, style="italic"), (0, 0, 0, 2))


def _table(card: Card, width: int) -> Iterator[RenderableType]:
    """Rich fits the columns: a text that is too long ends with an ellipsis; a number is never cut.

    Where space is short, the columns are those that the card names for it, with their short titles.
    """
    table = card.table
    if table is None:
        return
    is_narrow = width < NARROW_COLUMNS
    is_marked = any(row.tone is not Tone.INFO for row in table.rows)
    has_titles = any(column.title for column in table.columns)
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=has_titles)
    drawn: list[list[Text]] = []
    for place, column in enumerate(table.columns):
        if is_narrow and column.narrow == "":
            continue
        cells = _texts(table.rows, place)
        title = (is_narrow and column.narrow) or column.title
        # Rich shrinks every column without a width; the title of numbers is wrapped instead.
        longest = max(map(cell_len, (*cells, *title.split()))) if column.numeric else None
        margin = "  " if is_marked and not drawn else ""
        justify: JustifyMethod = "right" if column.numeric else "left"
        heading = Text(margin + visible(title))
        grid.add_column(heading, justify=justify, width=longest, header_style="bold", vertical="bottom")
        marks = [Text.assemble(_mark(row.tone, card), " ") if margin else Text() for row in table.rows]
        drawn.append([mark.append(cell) for mark, cell in zip(marks, cells, strict=True)])
    for line in zip(*drawn, strict=True):
        for text in line:
            text.no_wrap, text.overflow = True, "ellipsis"
        grid.add_row(*line)
    yield grid
    if (table.total or 0) > len(table.rows):
        yield Text(f"the first {len(table.rows):,} of {table.total:,}", style=QUIET)


def _texts(rows: Sequence[Row], place: int) -> list[str]:
    """The cells of a column; its numbers have the same number of decimals, so that they can be compared."""
    cells = [row.cells[place] for row in rows]
    is_whole = all(float(cell).is_integer() for cell in cells if isinstance(cell, int | float))
    number = "{:,.0f}" if is_whole else "{:,.1f}"
    texts = (formats.UNKNOWN if cell is None else cell for cell in cells)
    return [visible(text) if isinstance(text, str) else number.format(text) for text in texts]


def _foot(card: Card, console: Console) -> Iterator[RenderableType]:
    """A button is a line to type here, for a person at a terminal; then the footer."""
    grid = Grid.grid(padding=(0, 2, 0, 0))
    for button in card.buttons if console.is_terminal else ():
        if button.line:
            # For the person's own shell, to which a name from outside must not be a command of its own.
            line = shlex.join(word.text for word in split(button.line))
            grid.add_row(f"→ outreach {visible(line)}", visible(button.label), style=QUIET)
    if grid.row_count:
        yield grid
    if card.footer:
        yield Text(visible_lines(card.footer), style=QUIET)


def answer(result: Result, options: Namespace, *, is_silent: bool = False) -> int:
    """Show the card unless it `is_silent`, or with `--json` or `--csv` print the rows; 1 for a card of a failure.

    Raises `Refused` where nothing could be done. A quiet list has no heading and no notes.
    """
    card, is_data = result.card, options.csv or options.json
    if is_data:  # a refusal has data, too
        (print_csv if options.csv else print_data)(result.rows)
    if result.problem or result.effect == "failed":  # some of several, none of which could be changed
        raise exit_codes.Refused(card)
    if not is_data and not is_silent:
        show(card, bare=options.quiet)
    # The reason is on stderr, unless a person sees it on the card.
    if card.failure and (is_data or not sys.stdout.isatty()):
        exit_codes.print_error(card.title)
    return exit_codes.FAILED if card.failure else exit_codes.DONE


def print_data(data: Sequence[Mapping[str, object]]) -> None:
    """Print one array of objects on stdout; what a terminal cannot encode, or would obey, is escaped."""
    is_utf8 = (sys.stdout.encoding or "").lower() == "utf-8"
    write_data(f"{json.dumps(data, ensure_ascii=not is_utf8, indent=2, default=str)}\n", visible_json)


def print_csv(data: Sequence[Mapping[str, object]]) -> None:
    """Print a row for each object under the keys of all; no cell is a formula to a spreadsheet."""
    keys = list(dict.fromkeys(key for record in data for key in record))
    # For no keys, it would be an empty line.
    write_data("".join(csv_lines(keys, data) if keys else ()), visible_lines)


def write_data(text: str, clean: Callable[[str], str]) -> None:
    """Write to stdout: exactly in a pipe or a file, cleaned on a terminal, which would obey what a lead has written."""
    sys.stdout.write(clean(text) if sys.stdout.isatty() else text)
