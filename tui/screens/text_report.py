"""The board on paper: the same lists as lines of plain or coloured text, for `--once` and for the export. Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from datetime import datetime

from rich.text import Text

from shared.api.models import GROUPINGS
from shared.text.formats import show_change, show_count, show_rate
from shared.text.sanitize import visible
from tui.model.board import Board
from tui.model.columns import GAP, LISTS, Column, place
from tui.model.freshness import Freshness, Stamp
from tui.model.lines import Line
from tui.theme import text_bars
from tui.theme.palette import TONE_INK, Glyphs, Ink, Palette, Piece
from tui.widgets.status_lines import spread

MOST = 200
"""Lines of one list on paper."""


def lines(board: Board, *, width: int, now: datetime, glyphs: Glyphs) -> Iterator[list[Piece]]:
    """Verdict, figures and every list, each line as pieces no wider than `width`."""
    head = board.headline
    ink = TONE_INK[head.tone]
    yield [
        (f"{glyphs.of(head.tone)} ", ink),
        (head.text, Ink.STRONG),
        (f"   {visible(head.detail)}" if head.detail else "", Ink.MUTED),
    ]
    yield spread(board.spread, glyphs=glyphs, width=min(36, width // 3))
    yield []
    yield from _figures(board)
    for title, source, shown, columns in _lists(board):
        yield []
        yield _title(title, len(shown), board.stamps.get(source), now)
        yield from _list(shown, columns, width=width, glyphs=glyphs)


def _lists(board: Board) -> Iterator[tuple[str, str, Sequence[Line], Sequence[Column]]]:
    yield "Inboxes", "inboxes", board.inboxes, LISTS["inboxes"]
    yield "Sequences", "sequences", board.sequences, LISTS["sequences"]
    for grouping in GROUPINGS:
        yield f"Stats by {grouping}, 30 days", grouping, board.stats.get(grouping, ()), LISTS["stats"]
    yield "Interested", "interested", board.interested, LISTS["interested"]


def _figures(board: Board) -> Iterator[list[Piece]]:
    for figure in board.figures:
        yield [
            (f"  {figure.label:<10}", Ink.MUTED),
            (f"{show_count(figure.value):>9}", Ink.STRONG),
            (f"  {show_rate(figure.share):>7}" if figure.share is not None else " " * 9, Ink.TEXT),
            (f"  {show_change(figure.change):>7}" if figure.change is not None else " " * 9, Ink.TEXT),
            (f"   today {show_count(figure.today)}", Ink.MUTED),
        ]


def _title(title: str, number: int, stamp: Stamp | None, now: datetime) -> list[Piece]:
    pieces: list[Piece] = [(title.upper(), Ink.STRONG), (f" {number:,}", Ink.MUTED)]
    if stamp and (stamp.error or stamp.freshness(now) is not Freshness.FRESH):
        pieces.append((f"   {stamp.words(now)} {visible(stamp.error)}", Ink.WARN))
    return pieces


def _list(
    shown: Sequence[Line], columns: Sequence[Column], *, width: int, glyphs: Glyphs
) -> Iterator[list[Piece]]:
    placed = place(columns, width - 2)
    titles: list[Piece] = []
    for p in placed:
        titles += [*text_bars.fit([(p.column.title, Ink.MUTED)], p.width, right=p.column.right, more="")]
        titles.append((" " * GAP, Ink.TEXT))
    yield [("  ", Ink.TEXT), *titles]
    for line in shown[:MOST]:
        pieces: list[Piece] = [("  ", Ink.TEXT)]
        for p in placed:
            said = p.column.render(line, p.width, glyphs)
            pieces += [
                *text_bars.fit(said, p.width, right=p.column.right, more=glyphs.more),
                (" " * GAP, Ink.TEXT),
            ]
        yield pieces
    if len(shown) > MOST:
        yield [(f"  … and {len(shown) - MOST:,} more", Ink.MUTED)]


def text(pieces: Sequence[Piece], *, palette: Palette) -> Text:
    """One line for Rich, without markup."""
    line = Text(no_wrap=True, end="")
    for said, ink in pieces:
        line.append(said, palette.ink(ink) + (" bold" if ink is Ink.STRONG else ""))
    line.rstrip()
    return line


def plain(pieces: Sequence[Piece]) -> str:
    return "".join(said for said, _ in pieces).rstrip()


def as_csv(shown: Sequence[Line], columns: Sequence[Column], *, glyphs: Glyphs) -> str:
    """The list as CSV, in which nothing is a formula."""
    named = [column for column in columns if column.title]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(column.title for column in named)
    for line in shown:
        said = ("".join(t for t, _ in column.render(line, 0, glyphs)).strip() for column in named)
        writer.writerow(f"'{cell}" if cell[:1] in {"=", "+", "-", "@", "\t"} else cell for cell in said)
    return out.getvalue()
