"""The board on paper and as CSV."""

from __future__ import annotations

from datetime import timedelta

from rich.cells import cell_len

from shared.domain.snapshot import Snapshot
from tests.tui.accounts import NOW, account, board_of, failing
from tui.model.frame import Frame
from tui.screens.report import report


def lines_of(snapshot: Snapshot, *, width: int = 120) -> list[str]:
    return [line.plain for line in report(Frame(board=board_of(snapshot), now=NOW), width=width)]


def test_the_board_on_paper_is_no_wider_than_the_paper() -> None:
    for width in (80, 120, 200):
        lines = lines_of(account(), width=width)
        # In cells: some letters take two of them.
        assert max(map(cell_len, lines)) <= width
        assert any("SaaS founders" in line for line in lines)
    assert lines[0].startswith("◆ ")


def test_the_report_shows_what_could_not_be_read() -> None:
    lines = lines_of(failing(account(), since=NOW + timedelta(seconds=9), error="no response"))
    assert any("SEQUENCES" in line and "no response" in line for line in lines)
