"""Pause, undo, alarms, the past, keys, themes: what a person does, and what comes of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from textual.widgets import Input
from textual.widgets._toast import ToastRack

from shared.api.models import Sequence
from shared.domain.snapshot import REJECTED, UNREADABLE, Reading
from shared.domain.workspace_verdict import SERVICE
from shared.records.records import DomainPast, DomainPause
from tests.screens.desk import PAUSED, at_desk, crisis
from tests.tui.accounts import NOW, account
from tui.feed.history_access import HistoryAccess
from tui.screens.dialogs import HelpDialog
from tui.widgets.table import ListTable


async def test_p_asks_once_and_a_number_pauses_for_so_many_hours() -> None:
    async with at_desk() as desk:
        await desk.press("2", "p")
        assert "Pause SaaS founders" in desk.text
        assert "stops sending until someone resumes it" in desk.text
        assert not desk.service.lines
        await desk.press("2")
        await desk.until("Press u to undo")
        assert desk.service.lines == ["pause sq_0 for 2h"]


async def test_a_pause_is_pending_until_a_read_confirms_it_and_what_did_not_become_so_is_told() -> None:
    async with at_desk() as desk:
        await desk.press("2", "p", "y")
        await desk.until("pausing…")
        await desk.second()
        assert "pausing…" in desk.text, "no read has shown it yet"
        # Read after the pause: what was read before it says nothing about it.
        read = replace(crisis().sequences, read_at=desk.clock() + timedelta(seconds=1))
        await desk.see(replace(crisis(), sequences=read))
        assert "pausing…" not in desk.text
        assert "SaaS founders – Europe is active, not paused" in desk.toasts


@pytest.mark.parametrize("size", [(80, 24), (40, 12)])
async def test_toasts_take_room_and_never_lie_over_the_list_in_use(size: tuple[int, int]) -> None:
    many = tuple(Sequence(id=f"sq_{n:02}", name=f"S{n:02}", status="active", steps=1) for n in range(60))
    snapshot = replace(account(), sequences=Reading(value=many, read_at=NOW))
    async with at_desk(snapshot=snapshot, size=size, has_toasts=True) as desk:
        await desk.press("2", "pagedown")
        table = desk.app.screen.query_one("#sequences", ListTable)
        for number in range(3):
            # Longer than the test, or the first could be gone before the third has come.
            desk.app.toast(f"Notice {number}", timeout=600)
        await desk.until("Notice 2")
        await desk.settle()
        assert table.line
        assert table.line.key.replace("sq_", "S") in desk.text, "the line of the cursor is seen"
        (rack,) = desk.app.screen.query(ToastRack)
        assert not rack.region.overlaps(table.region)
        assert "Notice 0" not in desk.text, "two at most"
        assert "? help" in desk.text.splitlines()[-1]
        await desk.press("colon")
        assert not desk.app.screen.query_one(Input).region.overlaps(
            desk.app.screen.query_one(ToastRack).region
        )


# -- the past --------------------------------------------------------------------------------------


async def test_the_past_tells_the_cause_that_was_known_then_and_no_other(recorded: HistoryAccess) -> None:
    async with at_desk(snapshot=account(), history=recorded, size=(120, 40)) as desk:
        first = DomainPause(at=NOW - timedelta(hours=3), reason="bounce rate 7.1%", recovered_at=NOW)
        later = DomainPause(at=NOW - timedelta(minutes=30), reason="spam")
        for pauses, cause in (((later, first), "bounce rate 7.1%"), ((later,), "reason unknown")):
            past = DomainPast(reason="spam", pauses=pauses, bounced=40, known_from=NOW - timedelta(days=60))
            desk.app.state.feed.pasts["useacme.example"] = past  # type: ignore[union-attr] # of the fake
            await desk.write("at", "1h", "enter")
            line = next(line for line in desk.text.splitlines()[3:] if "useacme.example" in line)
            assert cause in line
            await desk.press("escape")


# -- alarms ----------------------------------------------------------------------------------------


async def test_what_comes_back_after_a_while_begins_anew_without_a_history() -> None:
    """The look between had been the only one without it, and the first start was kept."""
    async with at_desk() as desk:
        awake = tuple(
            replace(one, status="active", health_score=90.0) for one in crisis().inboxes.value or ()
        )
        for minutes, boxes in ((10, awake), (12, crisis().inboxes.value)):
            desk.clock.time = NOW + timedelta(minutes=minutes)
            read = Reading(value=boxes, read_at=desk.clock.time)
            await desk.see(replace(crisis(), inboxes=read))
        line = next(line for line in desk.text.splitlines()[3:] if PAUSED in line)
        assert "14:44" in line
        assert "14:32" not in line


async def test_a_cause_that_comes_back_unseen_begins_anew_without_a_history() -> None:
    async with at_desk(snapshot=account()) as desk:
        readings = account().inboxes
        for cause, minutes in ((REJECTED, 1), (UNREADABLE, 5), (REJECTED, 16)):
            at = desk.clock.time = NOW + timedelta(minutes=minutes)
            readings = readings.failed("no", cause=cause, at=at)
            if cause == REJECTED:
                await desk.see(replace(account(), inboxes=readings))
        (alarm,) = [one for one in desk.app.frame.alarms if one.key == SERVICE]
        assert alarm.since_words(desk.clock.time) == "14:48"
        assert "since 14:48" in desk.text.splitlines()[1]


async def test_the_hint_of_an_alarm_can_be_clicked() -> None:
    async with at_desk() as desk:
        column = desk.text.splitlines()[1].index("acknowledge")
        await desk.pilot.click("#verdict", offset=(column, 0))
        await desk.settle()
        assert "✓ acknowledged" in desk.text


# -- keys, help, themes ----------------------------------------------------------------------------


async def test_another_key_is_named_wherever_a_key_is_named() -> None:
    # `y` is also a dialog's yes, and has to stay it there.
    keys = {"acknowledge": "y", "undo": "ctrl+z", "pause": "b"}
    async with at_desk(keys=keys, size=(140, 40)) as desk:
        assert "y: acknowledge" in desk.text
        assert "b pause" in desk.text
        await desk.press("question_mark")
        assert isinstance(desk.app.screen, HelpDialog)
        for shown in ("b  ", "^z  ", "y  "):
            assert shown in desk.text
        await desk.press("escape", "2", "b", "y")
        await desk.until("Press ^z to undo")


# -- workspaces ---------------------------------------------------------------------------
