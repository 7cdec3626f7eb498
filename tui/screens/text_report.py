"""The board without a screen: its lists as lines of text for `--once`, and as files for the export."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from rich.text import Text

from shared.api.words import GROUPINGS
from shared.domain import evidence
from shared.domain.local_zone import local
from shared.storage.private_file import make_private_folder
from shared.text.csv_cells import guarded
from shared.text.formats import show_count
from shared.text.sanitize import visible
from tui.model.lists.columns import LISTS, STATS_BY, Column, line_pieces, needs_of, place, side_by_side
from tui.model.lists.lines import Freshness, Line, Stamp
from tui.model.workspace.board import Board
from tui.theme import drawing, formatting
from tui.theme.palette import TONE_INK, Glyphs, Ink, Palette, Piece
from tui.widgets.status_lines import spread

MOST = 200
"""Lines of one list on paper."""


def lines(board: Board, *, width: int, now: datetime, glyphs: Glyphs) -> Iterator[list[Piece]]:
    """Verdict, figures and every list, each line as pieces no wider than `width`."""
    head = board.verdict
    ink = TONE_INK[head.tone]
    yield drawing.fit([(f"{glyphs.of(head.tone)} ", ink), (head.text, Ink.STRONG)], width, more=glyphs.more)
    here = local(now)
    moment = f"  {here.day} {here:%b %Y %H:%M} {here.tzname()} · {visible(board.workspace)}"
    yield drawing.fit([(moment, Ink.MUTED)], width, more=glyphs.more)
    if head.detail:
        yield drawing.fit([(f"  {visible(head.detail)}", Ink.MUTED)], width, more=glyphs.more)
    yield spread(board.counts, glyphs=glyphs, room=width)
    for condition in board.conditions:
        older = "before " if condition.is_older and condition.since == condition.began else ""
        since = f" since {older}{formatting.moment(condition.since, now=now)}" if condition.since else ""
        pieces: list[Piece] = [(f"  {glyphs.bad} ", Ink.BAD), (visible(condition.summary + since), Ink.TEXT)]
        yield drawing.fit(pieces, width, more=glyphs.more)
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
        yield f"Stats by {grouping}, 30 days", grouping, board.stats.get(grouping, ()), STATS_BY[grouping]
    yield "Interested", "interested", board.interested, LISTS["interested"]


def _figures(board: Board) -> Iterator[list[Piece]]:
    for figure in board.figures:
        yield [
            (f"  {figure.label:<10}", Ink.MUTED),
            (f"{show_count(figure.value):>9}", Ink.STRONG),
            (f"  {figure.rate:>12}", Ink.MUTED if figure.rate == evidence.TOO_FEW else Ink.TEXT),
            (f"  {figure.change:>15}", Ink.TEXT),
            (f"   today {show_count(figure.today)}", Ink.MUTED),
        ]


def _title(title: str, number: int, stamp: Stamp | None, now: datetime) -> list[Piece]:
    counted = stamp.counted(number) if stamp else f"{number:,}"
    pieces: list[Piece] = [(title.upper(), Ink.STRONG), (f" {counted}", Ink.MUTED)]
    if stamp and (stamp.error or stamp.freshness(now) is not Freshness.FRESH):
        pieces.append((f"   {stamp.words(now)} {visible(stamp.error)}", Ink.WARN))
    return pieces


def _list(
    shown: Sequence[Line], columns: Sequence[Column], *, width: int, glyphs: Glyphs
) -> Iterator[list[Piece]]:
    placed = place(columns, width - 2, needs_of(columns, shown[:MOST], glyphs=glyphs))
    yield [("  ", Ink.TEXT), *side_by_side(placed, lambda p: [(p.column.title, Ink.MUTED)])]
    for line in shown[:MOST]:
        yield [("  ", Ink.TEXT), *line_pieces(line, placed, glyphs=glyphs)]
    if len(shown) > MOST:
        yield [(f"  … and {len(shown) - MOST:,} more", Ink.MUTED)]


def text(pieces: Sequence[Piece], *, palette: Palette) -> Text:
    """One line for Rich, without markup."""
    line = Text(no_wrap=True, end="")
    for text, ink in pieces:
        line.append(text, palette.ink(ink) + (" bold" if ink is Ink.STRONG else ""))
    line.rstrip()
    return line


def plain(pieces: Sequence[Piece]) -> str:
    return "".join(text for text, _ in pieces).rstrip()


def as_csv(shown: Sequence[Line], columns: Sequence[Column], *, glyphs: Glyphs) -> str:
    """The list as CSV, in which nothing is a formula."""
    named = [column for column in columns if column.title]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(column.title for column in named)
    for line in shown:
        cells = ("".join(t for t, _ in column.render(line, 0, glyphs)).strip() for column in named)
        writer.writerow(map(guarded, cells))
    return out.getvalue()


WIDTH = 160


def files(
    *,
    board: Board,
    name: str,
    shown: Sequence[Line],
    columns: Sequence[Column],
    picture: str,
    now: datetime,
    glyphs: Glyphs,
) -> Mapping[str, str]:
    text = "".join(f"{plain(p)}\n" for p in lines(board, width=WIDTH, now=now, glyphs=glyphs))
    return {
        f"{stem(now)}-{name}.csv": as_csv(shown, columns, glyphs=glyphs),
        f"{stem(now)}.txt": text,
        f"{stem(now)}.svg": picture,
    }


def stem(now: datetime) -> str:
    return f"outreach-{now:%Y%m%d-%H%M%S}"


def write(folder: Path, made: Mapping[str, str]) -> None:
    """Write the files, for the owner alone. Raises OSError."""
    make_private_folder(folder)
    for file, content in made.items():
        (folder / file).write_text(content, encoding="utf-8")
        (folder / file).chmod(0o600)


def packed(made: Mapping[str, str]) -> io.BytesIO:
    """The files in one archive, for a browser that takes one at a time."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as pack:
        for file, content in made.items():
            pack.writestr(file, content)
    archive.seek(0)
    return archive
