"""The board on paper and as CSV."""

from __future__ import annotations

from datetime import timedelta

from rich.cells import cell_len

from shared.api.models import Inbox
from shared.domain.health import verdict
from shared.domain.snapshot import Snapshot
from tests.tui.accounts import NOW, account, board_of, failing
from tui.model.columns import INBOXES
from tui.model.frame import Frame
from tui.model.lines import InboxLine
from tui.screens.report import as_csv, report


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


def test_a_csv_holds_no_formula() -> None:
    box = Inbox(email="=HYPERLINK(1)@x.example", status="active", health_score=90.0)
    head, line = as_csv([InboxLine(box, verdict(box))], INBOXES).splitlines()
    assert head.startswith("Inbox,Health")
    assert line.startswith("'=HYPERLINK")
