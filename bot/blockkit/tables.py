"""A Table in Slack: a data_table that fits on a phone, or one line per row. Pure.

Slack's reference says neither how wide a data_table is drawn on a phone nor that its cells wrap, and a column of it
has no `is_wrapped` as one of the older `table` has. So only what surely fits is a table; text wraps in lines.
Sources: docs.slack.dev/reference/block-kit/blocks/data-table-block and table-block.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from slack_sdk.models.blocks import RawNumberObject, RawTextObject

from bot.blockkit import elements
from bot.blockkit.elements import Block, cut
from shared.domain.card import Column, Row, Table, Tone
from shared.text.sanitize import visible

MARKS = {Tone.GOOD: "🟢 ", Tone.WARN: "🟠 ", Tone.BAD: "🔴 ", Tone.UNKNOWN: "⚪ ", Tone.INFO: ""}
LARGEST = 1e15
"""The largest figure that Slack takes."""
CELL, CAPTION, PAGE, MOST_ROWS = 80, 150, 15, 60
MOST_LINES = 20
"""Rows of which a table that is too wide becomes lines; of a longer one, the columns that fit are shown."""
SCREEN, PADDING = 27, 2
"""Characters that fit on a phone beside the first column, and what each column adds to its own."""
NAME, DETAILS = 100, 300
"""Characters of the first cell of a line, and of the others together."""
_NUMBER = re.compile(r"(-?[0-9][0-9,]{0,15}(?:\.[0-9]{1,6})?)(?: ?%(?: ?±[0-9.]+)?)?")


def draw(table: Table | None, *, caption: str) -> Block | None:
    """The table as people sort it and turn its pages, or as lines where it would be wider than a phone."""
    if table is None or not table.rows:
        return None
    table = replace(table, rows=table.rows[:MOST_ROWS])
    short = _columns_of(table, [n for n, column in enumerate(table.columns) if column.narrow != ""])
    fitting = _fitting(short)
    if fitting < len(short.columns) and len(table.rows) <= MOST_LINES:
        return draw_lines(table, rows=MOST_LINES)
    return _data_table(_columns_of(short, range(fitting)), caption=caption)


def _columns_of(table: Table, places: Sequence[int]) -> Table:
    """Only these columns; bars, which repeat a figure, are none of them."""
    kept = [n for n in places if not table.columns[n].bar]
    return replace(
        table,
        columns=tuple(table.columns[n] for n in kept),
        rows=tuple(replace(row, cells=tuple(row.cells[n] for n in kept)) for row in table.rows),
    )


def _fitting(table: Table) -> int:
    """How many columns fit beside each other; the first wraps."""
    room, columns = SCREEN, list(enumerate(table.columns))[1:]
    for n, column in columns:
        texts = (_title(column), *(shown(row.cells[n]) for row in table.rows))
        room -= PADDING + max(map(len, texts))
        if room < 0:
            return n
    return len(table.columns)


def _title(column: Column) -> str:
    return column.narrow or column.title


def _data_table(table: Table, *, caption: str) -> Block:
    rows = [
        [
            _figure(cell, column) or _cell(shown(cell), mark=MARKS[row.tone] if n == 0 else "")
            for n, (cell, column) in enumerate(zip(row.cells, table.columns, strict=True))
        ]
        for row in table.rows
    ]
    return {
        "type": "data_table",
        "caption": cut(visible(caption).strip(), CAPTION) or "Table",
        "rows": [[_cell(_title(column) or "\u00a0") for column in table.columns], *rows],
        "page_size": min(len(rows), PAGE),
    }


def _figure(cell: str | float | None, column: Column) -> dict[str, Any] | None:
    """A cell that is sorted by its value, also a share such as `6.6% ±1.8`; None if it isn't a number."""
    if not column.numeric or cell is None:
        return None
    text = cell if isinstance(cell, str) else shown(cell)
    if isinstance(cell, str):
        found = _NUMBER.fullmatch(cell)
        value = float(found[1].replace(",", "")) if found else None
    else:
        value = cell
    if value is None or abs(value) > LARGEST:
        return None
    return RawNumberObject(value=value, text=text).to_dict()


def _cell(text: str, *, mark: str = "") -> dict[str, Any]:
    return RawTextObject(text=mark + (cut(visible(text).strip(" "), CELL) or "–")).to_dict()


def rest(table: Table | None) -> str:
    """A note about rows that the table doesn't show."""
    if table is None:
        return ""
    shown, total = min(len(table.rows), MOST_ROWS), max(table.total or 0, len(table.rows))
    return f"and {total - shown:,} more" if shown < total else ""


def shown(cell: str | float | None) -> str:
    if cell is None:
        return "–"
    return cell if isinstance(cell, str) else f"{cell:,.10g}"


def draw_lines(table: Table, *, rows: int, remaining: bool = False) -> Block:
    """The first rows, a line each; `remaining` says how many more there are."""
    lines = [_line(table, row) for row in table.rows[:rows]]
    more = max(table.total or 0, len(table.rows)) - len(lines)
    if remaining and more > 0:
        lines.append(_section(elements.text_element(f"and {more} more")))
    return elements.rich(*lines)


def _line(table: Table, row: Row) -> dict[str, Any]:
    first, *others = row.cells
    named = [
        f"{_label(column)} {shown(cell)}".strip()
        for column, cell in zip(table.columns[1:], others, strict=False)
        if cell not in (None, "") and not column.bar
    ]
    name = cut(visible(shown(first)).strip(), NAME) or "–"
    details = cut(visible(" · ".join(named)), DETAILS)
    return _section(
        elements.text_element(MARKS[row.tone] + name, bold=True),
        *([elements.text_element(f"  {details}\n")] if details else [elements.text_element("\n")]),
    )


def _label(column: Column) -> str:
    """What a cell's figure counts; self-explanatory text has no label."""
    return column.narrow or (column.title if column.numeric else "")


def _section(*words: dict[str, Any]) -> dict[str, Any]:
    return {"type": "rich_text_section", "elements": list(words)}
