"""A Table in Slack: a data_table that fits on a phone, or one line per row. Pure.

Slack's reference says neither how wide a data_table is drawn on a phone nor that its cells wrap, and a column of it
has no `is_wrapped` as one of the older `table` has. So only what surely fits is a table; text wraps in lines.
Sources: docs.slack.dev/reference/block-kit/blocks/data-table-block and table-block.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.blockkit.elements import Block, cut, rich, section, text_element
from shared.domain.card import Column, Row, Table, Tone
from shared.text.formats import show_number
from shared.text.sanitize import visible

MARKS = {Tone.GOOD: "🟢 ", Tone.WARN: "🟠 ", Tone.BAD: "🔴 ", Tone.UNKNOWN: "⚪ ", Tone.INFO: ""}
LARGEST = 1e15
"""The largest figure that Slack takes."""
CELL, PAGE, MOST_ROWS = 80, 15, 60
MOST_LINES = 20
"""Rows of which a table that is too wide becomes lines; of a longer one, the columns that fit are shown."""
SCREEN, PADDING = 27, 2
"""Characters that fit on a phone beside the first column, and what each column adds to its own."""
NAME, DETAILS = 100, 300
"""Characters of the first cell of a line, and of the others together."""
_NUMBER = re.compile(r"(-?[0-9][0-9,]{0,15}(?:\.[0-9]{1,6})?)(?: ?%(?: ?±[0-9.]+)?)?")


def draw(table: Table | None) -> Block | None:
    """The table as people sort it and turn its pages, or as lines where it would be wider than a phone."""
    if table is None or not table.rows:
        return None
    rows, kept = table.rows[:MOST_ROWS], _kept(table)
    fitting = _fitting(table, kept, rows)
    if len(fitting) < len(kept) and len(rows) <= MOST_LINES:
        return draw_lines(table, rows=MOST_LINES)
    body = []
    for row in rows:
        cells = [_figure(row, table, n) or _cell(show_cell(row.cells[n])) for n in fitting]
        cells[0]["text"] = MARKS[row.tone] + cells[0]["text"]
        body.append(cells)
    return {
        "type": "data_table",
        # Slack requires one, and draws it below the message's title, which says the rest.
        "caption": show_number(max(table.total or 0, len(table.rows)), "row"),
        "rows": [[_cell(_title(table.columns[n]) or "\u00a0") for n in fitting], *body],
        "page_size": min(len(rows), PAGE),
    }


def _kept(table: Table) -> list[int]:
    """The columns for a narrow face: no bars, which repeat a figure, and none with an empty narrow title."""
    return [n for n, column in enumerate(table.columns) if column.narrow != "" and not column.bar]


def _fitting(table: Table, places: Sequence[int], rows: Sequence[Row]) -> Sequence[int]:
    """The columns that fit beside each other; the first wraps."""
    room = SCREEN
    for count, n in enumerate(places[1:], 1):
        texts = (_title(table.columns[n]), *(show_cell(row.cells[n]) for row in rows))
        room -= PADDING + max(map(len, texts))
        if room < 0:
            return places[:count]
    return places


def _title(column: Column) -> str:
    return column.narrow or column.title


def _figure(row: Row, table: Table, n: int) -> Block | None:
    """A cell that is sorted by its value, also a share such as `6.6% ±1.8`; None if it isn't a number."""
    cell = row.cells[n]
    if not table.columns[n].numeric or cell is None:
        return None
    value: str | float = cell
    if isinstance(cell, str):
        number = _NUMBER.fullmatch(cell)
        if number is None:
            return None
        value = float(number[1].replace(",", ""))
    if abs(float(value)) > LARGEST:
        return None
    return {"type": "raw_number", "value": value, "text": show_cell(cell)}


def _cell(text: str) -> Block:
    return {"type": "raw_text", "text": cut(visible(text).strip(" "), CELL) or "–"}


def remaining(table: Table | None) -> str:
    """A note about rows that the table doesn't show."""
    return "" if table is None else _more(table, min(len(table.rows), MOST_ROWS))


def _more(table: Table, drawn: int) -> str:
    more = max(table.total or 0, len(table.rows)) - drawn
    return f"and {more:,} more" if more > 0 else ""


def show_cell(cell: str | float | None) -> str:
    if cell is None:
        return "–"
    return cell if isinstance(cell, str) else f"{cell:,.10g}"


def draw_lines(table: Table, *, rows: int, remaining: bool = False) -> Block:
    """The first rows, a line each; `remaining` says how many more there are."""
    lines = [_line(table, row) for row in table.rows[:rows]]
    more = _more(table, len(lines))
    return rich(*lines, *([section(text_element(more))] if remaining and more else []))


def _line(table: Table, row: Row) -> Block:
    words = []
    for n in _kept(table)[1:]:
        cell, column = row.cells[n], table.columns[n]
        # A figure's title says what it counts; other text explains itself.
        label = column.narrow or (column.title if column.numeric else "")
        if cell not in (None, ""):
            words.append(f"{label} {show_cell(cell)}".strip())
    name = cut(visible(show_cell(row.cells[0])).strip(), NAME) or "–"
    details = cut(visible(" · ".join(words)), DETAILS)
    end = f"  {details}\n" if details else "\n"
    return section(text_element(MARKS[row.tone] + name, bold=True), text_element(end))
