"""The view as files: a list as CSV, the board as text, the screen as a picture."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from tui.model.board import Board
from tui.model.columns import LISTS
from tui.model.lines import Line
from tui.screens import text_report
from tui.theme.palette import Glyphs

WIDTH = 160


def files(
    *, board: Board, name: str, shown: Sequence[Line], picture: str, now: datetime, glyphs: Glyphs
) -> Mapping[str, str]:
    text = "".join(
        f"{text_report.plain(p)}\n" for p in text_report.lines(board, width=WIDTH, now=now, glyphs=glyphs)
    )
    return {
        f"{stem(now)}-{name}.csv": text_report.as_csv(shown, LISTS[name], glyphs=glyphs),
        f"{stem(now)}.txt": text,
        f"{stem(now)}.svg": picture,
    }


def stem(now: datetime) -> str:
    return f"outreach-{now:%Y%m%d-%H%M%S}"


def write(folder: Path, made: Mapping[str, str]) -> None:
    """Write the files, for the owner alone. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
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
