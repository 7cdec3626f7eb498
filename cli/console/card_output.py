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
from rich.text import Text

from cli.console import exit_codes
from cli.console.table_layout import Look, lay_out, shortened
from shared.commands.result import Result
from shared.domain.card import Button, Card, Fact, Tone
from shared.text.csv_cells import csv_cell
from shared.text.sanitize import visible, visible_json, visible_lines

STYLES = {Tone.GOOD: "green", Tone.WARN: "yellow", Tone.BAD: "red", Tone.UNKNOWN: "magenta", Tone.INFO: ""}
WIDEST_PROSE = 100
QUIET = "dim"
_UNBROKEN = re.compile(r"[ \t]+(?!%)")  # a number keeps its sign: `4.2 %`


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
    """Where data is written."""

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
    grid = lay_out(card.table, look)
    for heading in grid.heading:
        yield Text(heading, style="bold")
    for tone, line in grid.rows:
        yield Text.assemble((line[:1], STYLES[tone]), line[1:])
    if grid.hidden:
        yield Text(f"hidden at this width: {', '.join(grid.hidden)}", style=QUIET)
    if (card.table.total or 0) > len(grid.rows):
        yield Text(f"the first {len(grid.rows):,} of {card.table.total:,}", style=QUIET)


def _foot(card: Card, look: Look) -> Iterator[Text]:
    if look.interactive:
        yield from _hints(card.buttons, look)
    if card.footer:
        yield from _prose(card.footer, look, style=QUIET)


def _hints(buttons: Sequence[Button], look: Look) -> Iterator[Text]:
    """What a click would do elsewhere is a line to type here."""
    arrow = "->" if look.ascii else "→"
    buttons = [button for button in buttons if button.line]
    typed = [f"{arrow} outreach {visible(button.line)}" for button in buttons]
    widest = max(map(cell_len, typed), default=0)
    for line, button in zip(typed, buttons, strict=True):
        label = visible(button.label)
        whole = f"{line}{' ' * (widest - cell_len(line) + 2)}{label}".rstrip()
        yield Text(
            whole if look.width is None else shortened(whole, look.width, ascii_only=look.ascii), style=QUIET
        )


def _encodable(line: Text, look: Look) -> Text:
    if look.ascii:
        line.plain = line.plain.encode("ascii", "replace").decode("ascii")
    return line
