"""When an alarm is raised."""

from __future__ import annotations

from dataclasses import replace

from shared.api.models import Inbox
from tests.tui.accounts import account, board_of
from tui.model import changes
from tui.model.board import Board


def test_an_alarm_is_raised_on_the_edge_only() -> None:
    fine = tuple(replace(b, health_score=95.0, status="active") for b in account().inboxes.value or ())
    bad = (replace(fine[0], health_score=10.0), *fine[1:])

    def board(boxes: tuple[Inbox, ...]) -> Board:
        return board_of(replace(account(), inboxes=replace(account().inboxes, value=boxes)))

    assert changes.new_alarms(None, board(bad)) == ()
    assert [text.partition(":")[0] for text in changes.new_alarms(board(fine), board(bad))] == [
        "useacme.example"
    ]
    assert changes.new_alarms(board(bad), board(bad)) == ()
    assert changes.new_alarms(board(bad), board(fine)) == ()
