"""The view as files: a list as CSV, the board as text, the screen as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from tui import sheet
from tui.board import Board
from tui.columns import LISTS
from tui.lines import Line
from tui.look import Glyphs

WIDTH = 160


def write(
    folder: Path,
    *,
    board: Board,
    name: str,
    shown: Sequence[Line],
    picture: str,
    now: datetime,
    glyphs: Glyphs,
) -> tuple[str, ...]:
    """Write the three files, for the owner alone; answers their names. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    stem = f"outreach-{now:%Y%m%d-%H%M%S}"
    text = "".join(f"{sheet.plain(p)}\n" for p in sheet.lines(board, width=WIDTH, now=now, glyphs=glyphs))
    files = {
        f"{stem}-{name}.csv": sheet.as_csv(shown, LISTS[name], glyphs=glyphs),
        f"{stem}.txt": text,
        f"{stem}.svg": picture,
    }
    for file, content in files.items():
        (folder / file).write_text(content, encoding="utf-8")
        (folder / file).chmod(0o600)
    return tuple(files)
