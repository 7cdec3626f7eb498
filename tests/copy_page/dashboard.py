"""What the dashboard says: its report in each state, alarms, and the help of every panel."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from shared.domain.card import Card
from shared.domain.snapshot import Snapshot
from tests.tui.accounts import NOW, account, board_of, failing
from tui.model.input import keys
from tui.model.news import alarms
from tui.model.workspace.board import unread
from tui.screens import text_report
from tui.screens.alarms import alarm_card
from tui.theme.palette import glyphs_for


def reports() -> Iterator[tuple[str, str]]:
    """The board as text."""
    empty = Snapshot(workspace="acme")
    broken = failing(account(inboxes=4, now=NOW - timedelta(minutes=20)), since=NOW - timedelta(minutes=20))
    boards = {
        "normal": board_of(account(inboxes=6)),
        "service unreachable": board_of(broken),
        "nothing read yet": unread("acme"),
        "empty": board_of(empty),
    }
    for name, board in boards.items():
        drawn = text_report.lines(board, width=110, now=NOW, glyphs=glyphs_for("utf-8"))
        yield f"board, {name}", "\n".join(text_report.plain(pieces).rstrip() for pieces in drawn)


def cards() -> Iterator[tuple[str, Card]]:
    """Help and alarms."""
    for panel in keys.PANELS:
        card = keys.panel_help(panel, remapped=None)
        yield f"help: {panel}", card if panel == "inboxes" else Card(title=card.title, text=card.text)
    yield "help: pages", keys.page_help(remapped=None)
    board = board_of(failing(account(inboxes=8), since=NOW - timedelta(minutes=20)))
    known = alarms.update((), board.conditions, changes=(), now=NOW)
    for alarm in known.alarms:
        yield f"alarm: {alarm.kind}", alarm_card(alarm, now=NOW)
