"""The board without a screen: its lists as lines of text for `--once`, and as files for the export."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from shared.api.words import GROUPINGS
from shared.domain.card import Tone
from shared.domain.local_zone import local
from shared.storage.files import make_private_folder
from shared.text.csv_cells import guarded
from shared.text.formats import show_count
from shared.text.sanitize import visible
from tui.model.columns import GAP, INBOXES, SEQUENCES, STATS_BY, Column, needs_of, place, text_column
from tui.model.frame import DOMAINS, Frame
from tui.model.lines import Freshness, Line, lead_name
from tui.theme.palette import Ink
from tui.theme.words import Words, fit, sign_words
from tui.widgets.table import ListTable

MOST = 200
"""Lines of one list on paper."""
WIDTH = 160
"""Cells of the exported text."""
LEADS = (
    text_column("lead", "Lead", 20, lead_name, grow=1),
    text_column("company", "Company", 20, lambda x: x.company, Ink.MUTED, grow=1),
    text_column("email", "Email", 30, lambda x: x.email, Ink.MUTED, grow=1),
)


def report(frame: Frame, *, width: int) -> Iterator[Words]:
    """Verdict, figures and every list, each line no wider than `width`."""
    here = local(frame.now)
    time = f"  {here.day} {here:%b %Y %H:%M} {here.tzname()} · {visible(frame.workspace)}"
    headline = frame.headline
    yield _line([sign_words(headline.tone), (headline.text, Ink.STRONG)], width)
    yield _line([(time, Ink.MUTED)], width)
    for condition in frame.board.conditions:
        since = frame.since_of(condition)
        text = visible(condition.summary) + (f" since {since}" if since else "")
        yield _line([("  ", Ink.TEXT), sign_words(Tone.BAD), (text, Ink.TEXT)], width)
    yield Words()
    for figure in frame.board.figures:
        yield Words(
            (
                (f"  {figure.label:<10}", Ink.MUTED),
                (f"{show_count(figure.value):>9}", Ink.STRONG),
                (f"  {figure.rate:>12}", Ink.TEXT),
                (f"  {figure.change:>8}", Ink.TEXT),
                (f"   today {show_count(figure.today)}", Ink.MUTED),
            )
        )
    for title, source, lines, columns in _lists(frame):
        yield Words()
        yield _title(frame, title, source, len(lines))
        yield from _listed(lines[:MOST], columns, width=width - GAP)
        if len(lines) > MOST:
            yield Words.of(f"  … and {len(lines) - MOST:,} more", Ink.MUTED)


def _line(pieces: list[tuple[str, Ink]], width: int) -> Words:
    return Words(tuple(fit(pieces, width)))


def _lists(frame: Frame) -> Iterator[tuple[str, str, Sequence[Any], Sequence[Column]]]:
    board = frame.board
    yield "Domains", "inboxes", frame.domain_lines, DOMAINS
    yield "Inboxes", "inboxes", board.inboxes, INBOXES
    yield "Sequences", "sequences", board.sequences, SEQUENCES
    for grouping in GROUPINGS:
        yield f"Stats by {grouping}, 30 days", grouping, board.stats_by(grouping), STATS_BY[grouping]
    yield "Interested", "interested", frame.snapshot.interested.value or (), LEADS


def _listed(lines: Sequence[Line], columns: Sequence[Column], *, width: int) -> Iterator[Words]:
    """Titles and lines as they stand on the screen."""
    placed, gap = place(columns, width, needs_of(columns, lines)), (" " * GAP, Ink.TEXT)
    titles = (fit([(p.column.title, Ink.MUTED)], p.width, right=p.column.right) for p in placed)
    yield Words(tuple(piece for cell in titles for piece in (gap, *cell)))
    for line in lines:
        cells = (p.column.cell(line, p.width).pieces for p in placed)
        yield Words(tuple(piece for cell in cells for piece in (gap, *cell)))


def _title(frame: Frame, title: str, source: str, number: int) -> Words:
    stamp, late = frame.board.stamps[source], ""
    if stamp.reading.error or frame.freshness(source) is not Freshness.FRESH:
        late = f"   {stamp.words(frame.now)} {visible(stamp.reading.error or '')}"
    return Words(((title.upper(), Ink.STRONG), (f" {stamp.counted(number)}", Ink.MUTED), (late, Ink.WARN)))


def as_csv(lines: Sequence[Line], columns: Sequence[Column]) -> str:
    """The list as CSV, in which nothing is a formula."""
    named = [column for column in columns if column.title]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(column.title for column in named)
    for line in lines:
        writer.writerow(guarded(column.text(line)) for column in named)
    return out.getvalue()


def files(frame: Frame, table: ListTable, *, picture: str) -> Mapping[str, str]:
    """The list as CSV, the board as text, the screen as a picture."""
    stem = stem_of(frame.now)
    text = "".join(f"{line.plain.rstrip()}\n" for line in report(frame, width=WIDTH))
    return {
        f"{stem}-{table.id}.csv": as_csv(table.shown, table.list_columns),
        f"{stem}.txt": text,
        f"{stem}.svg": picture,
    }


def stem_of(now: datetime) -> str:
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
