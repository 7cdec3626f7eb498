"""The board on paper and as CSV."""

from __future__ import annotations

from datetime import timedelta

from rich.cells import cell_len

from shared.api.models import Inbox
from shared.domain.health import verdict
from tests.tui.accounts import NOW, account, board_of, failing
from tui.model.lists.columns import LISTS
from tui.model.lists.lines import InboxLine
from tui.screens import text_report
from tui.theme.palette import ASCII, UNICODE


def test_the_board_on_paper_is_no_wider_than_the_paper() -> None:
    for width in (80, 120, 200):
        lines = [
            text_report.plain(p)
            for p in text_report.lines(board_of(account()), width=width, now=NOW, glyphs=UNICODE)
        ]
        assert max(map(cell_len, lines)) <= width
        assert any("SaaS founders" in line for line in lines)
    assert lines[0].startswith("◆ ")


def test_the_text_report_shows_what_could_not_be_read() -> None:
    board = board_of(failing(account(), since=NOW + timedelta(seconds=9), error="no response"))
    texts = [text_report.plain(p) for p in text_report.lines(board, width=120, now=NOW, glyphs=ASCII)]
    assert any("SEQUENCES" in line and "no response" in line for line in texts)


def test_a_csv_holds_no_formula() -> None:
    box = Inbox(email="=HYPERLINK(1)@x.example", status="active", health_score=90.0)
    text = text_report.as_csv([InboxLine(box, verdict(box))], LISTS["inboxes"], glyphs=UNICODE)
    head, line = text.splitlines()
    assert head.startswith("Inbox,Health")
    assert line.startswith("'=HYPERLINK")
