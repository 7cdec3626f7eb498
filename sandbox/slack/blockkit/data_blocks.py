"""Tables and charts of 2026: data_table and data_visualization, and the older table.

Sources: docs.slack.dev/reference/block-kit/blocks/data-table-block, data-visualization-block and table-block.
The SDKs name the fields of cells: docs.slack.dev/tools/node-slack-sdk/reference/types/interfaces/RawNumberElement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sandbox.slack.blockkit.rich_text import ELEMENTS
from sandbox.slack.blockkit.rules import Rule, array, boolean, by_type, choice, number, problem, shape, string

MAX_CELL_CHARACTERS = 10_000
"""Over all cells of all tables of a message."""
MAX_CHARTS = 2
"""Charts in one message."""
_ANY_NUMBER = number(-1e15, 1e15)

_PLAIN_CELLS: dict[str, Rule] = {
    "raw_text": shape({"text": string(MAX_CELL_CHARACTERS, 1)}),
    "raw_number": shape({"value": _ANY_NUMBER, "text": string(MAX_CELL_CHARACTERS, 1)}),
}
CELL = by_type({**_PLAIN_CELLS, "rich_text": shape({"elements": ELEMENTS}, block_id=string(255))})
_HEADER_CELL = by_type(_PLAIN_CELLS)
COLUMN = shape({}, align=choice("left", "center", "right"), is_wrapped=boolean)


def data_rows(value: Any, at: str) -> Iterator[str]:
    """A header and 1 to 100 rows of 1 to 20 cells, all of one length; no rich text in the header."""
    found = list(array(array(CELL, 20), 101, 2)(value, at))
    yield from found
    if found or not value:
        return
    yield from array(_HEADER_CELL, 20)(value[0], f"{at}/0")
    for place, row in enumerate(value):
        if len(row) != len(value[0]):
            yield problem(f"must have {len(value[0])} cells, as the first row has", f"{at}/{place}")


DATA_TABLE: dict[str, Rule] = {"rows": data_rows, "caption": string(3000, 1)}
DATA_TABLE_OPTIONS: dict[str, Rule] = {
    "page_size": number(1, 100),
    "row_header_column_index": number(0, 19),
}

_LABEL, _TITLE = string(20, 1), string(50)


def _above_zero(value: Any, at: str) -> Iterator[str]:
    yield from _ANY_NUMBER(value, at)
    if isinstance(value, int | float) and value <= 0:
        yield problem("must be greater than 0", at)


_POINTS = array(shape({"label": _LABEL, "value": _ANY_NUMBER}), 20)
_SERIES = array(shape({"name": _LABEL, "data": _POINTS}), 6)
_AXIS = shape({"categories": array(_LABEL, 20)}, x_label=_TITLE, y_label=_TITLE)


def _plotted(value: Any, at: str) -> Iterator[str]:
    """Series over the categories of an axis: every series has its own name, and a point for each category."""
    found = list(shape({"series": _SERIES, "axis_config": _AXIS})(value, at))
    yield from found
    if found:
        return
    names: set[str] = set()
    for place, series in enumerate(value["series"]):
        if series["name"] in names:
            yield problem(f"series name is not unique: {series['name']}", f"{at}/series/{place}/name")
        names.add(series["name"])
        if [point["label"] for point in series["data"]] != value["axis_config"]["categories"]:
            yield problem("labels must match axis_config.categories", f"{at}/series/{place}/data")


CHART = by_type(
    {
        "pie": shape({"segments": array(shape({"label": _LABEL, "value": _above_zero}), 6)}),
        "bar": _plotted,
        "area": _plotted,
        "line": _plotted,
    }
)
CHART_BLOCK: dict[str, Rule] = {"title": string(50, 1), "chart": CHART}


def message_problems(blocks: Sequence[Any], at: str) -> Iterator[str]:
    """What is wrong over all blocks of a message."""
    kinds = [block.get("type") for block in blocks if isinstance(block, dict)]
    if kinds.count("table") > 1:
        yield problem("only_one_table_allowed", at)
    if kinds.count("data_visualization") > MAX_CHARTS:
        yield problem(f"no more than {MAX_CHARTS} data_visualization blocks allowed", at)
    if sum(map(_cell_characters, blocks)) > MAX_CELL_CHARACTERS:
        yield problem(f"table cells must be less than {MAX_CELL_CHARACTERS + 1} characters in total", at)


def _cell_characters(block: Any) -> int:
    if not isinstance(block, dict) or block.get("type") not in ("table", "data_table"):
        return 0
    rows = block.get("rows")
    cells = [cell for row in rows if isinstance(row, list) for cell in row] if isinstance(rows, list) else []
    return sum(_characters(cell) for cell in cells)


def _characters(value: Any) -> int:
    """The letters of a cell: its own text, or all texts inside its rich text."""
    if isinstance(value, list):
        return sum(map(_characters, value))
    if not isinstance(value, dict):
        return 0
    own = value.get("text")
    return (len(own) if isinstance(own, str) else 0) + _characters(value.get("elements"))
