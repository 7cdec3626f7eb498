"""Pauses from the dashboard: asked first, pending until a read proves them, taken back."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from textual.widgets import Static

from shared.domain.snapshot import Reading, Snapshot, from_json, to_json
from shared.records.sequence_changes import PauseEnd
from tests.tui.accounts import NAMES, NOW, Clock, account
from tests.tui.app.dashboard_harness import staged
from tui.model.workspace.changes import between
from tui.screens.detail_page import DetailScreen
from tui.screens.dialogs import ConfirmDialog, HoursDialog


async def test_a_pause_is_asked_first_and_no_is_no(clock: Clock) -> None:
    async with staged(clock) as harness:
        await harness.see(account())
        await harness.press("2", "p")
        assert isinstance(harness.app.screen, ConfirmDialog)
        await harness.press("n")
        assert harness.service.lines == []


async def test_enter_without_reading_does_nothing(clock: Clock) -> None:
    async with staged(clock) as harness:
        await harness.see(account())
        await harness.press("2", "p", "enter")
        assert harness.service.lines == []
        assert harness.app.screen is harness.screen


async def test_a_pause_is_pending_until_the_next_read_proves_it(clock: Clock) -> None:
    async with staged(clock) as harness:
        await harness.see(account())
        await harness.press("2", "p", "y")
        await harness.app.workers.wait_for_complete()
        assert harness.service.lines == ["pause sq_0"]
        assert harness.statuses()[0] == "pausing…"
        assert harness.feed.requested
        await harness.see(account(now=NOW - timedelta(seconds=1)))
        assert harness.statuses()[0] == "pausing…", "a read from before proves nothing"
        clock.advance(2)
        await harness.see(paused(account(now=clock()), 0))
        assert harness.statuses()[0] == "paused"


async def test_a_pause_is_proven_though_the_clock_was_set_back(clock: Clock) -> None:
    async with staged(clock) as harness:
        await harness.see(account())
        await harness.press("2", "p", "y")
        await harness.app.workers.wait_for_complete()
        clock.advance(-3600)
        await harness.see(account(now=clock() - timedelta(seconds=1)))
        assert harness.statuses()[0] == "pausing…", "begun before the pause was known"
        clock.advance(2)
        await harness.see(paused(account(now=clock()), 0))
        assert harness.statuses()[0] == "paused"


def paused(snapshot: Snapshot, number: int) -> Snapshot:
    sequences = [*(snapshot.sequences.value or ())]
    sequences[number] = replace(sequences[number], status="paused")
    return replace(snapshot, sequences=Reading(value=tuple(sequences), read_at=snapshot.sequences.read_at))


async def test_a_pause_without_effect_is_reported(clock: Clock) -> None:
    async with staged(clock) as harness:
        await harness.see(account())
        await harness.press("2", "p", "y")
        await harness.app.workers.wait_for_complete()
        clock.advance(2)
        await harness.see(account(now=clock()))
        assert harness.statuses()[0] == "active"
        texts = [note.message for note in harness.app._notifications]
        assert texts == [f"{NAMES[0]} is active, not paused"]


async def test_a_pause_that_fails_is_pending_no_more_and_says_why(clock: Clock) -> None:
    async with staged(clock) as harness:
        harness.service.broken = True
        await harness.see(account())
        await harness.press("2", "p", "y")
        await harness.app.workers.wait_for_complete()
        await harness.pilot.pause()
        assert harness.statuses()[0] == "active"
        assert [note.title for note in harness.app._notifications] == [
            "The outreach service can't be reached"
        ]


async def test_several_marked_sequences_are_paused_at_once_and_taken_back(clock: Clock) -> None:
    async with staged(clock) as harness:
        await harness.see(account())
        await harness.press("2", "space", "space", "p", "y")
        await harness.app.workers.wait_for_complete()
        assert harness.service.lines == ["pause sq_0 sq_1"]
        clock.advance(9 * 60)
        await harness.press("u", "y")
        await harness.app.workers.wait_for_complete()
        assert harness.service.lines[1:] == ["undo"]
        now = await harness.service.context.client.list_sequences()
        assert [one.status for one in now[:2]] == ["active", "active"]


async def test_after_ten_minutes_nothing_is_taken_back(clock: Clock) -> None:
    async with staged(clock) as harness:
        await harness.see(account())
        await harness.press("2", "p", "y")
        await harness.app.workers.wait_for_complete()
        clock.advance(11 * 60)
        await harness.press("u")
        await harness.app.workers.wait_for_complete()
        assert [note.title for note in harness.app._notifications] == ["Nothing to undo"]


async def test_p_resumes_a_paused_sequence(clock: Clock) -> None:
    async with staged(clock) as harness:
        await harness.see(account())
        await harness.press("2", "down", "down", "p", "y")
        await harness.app.workers.wait_for_complete()
        assert harness.service.lines == ["resume sq_2"]
        assert harness.statuses()[2] == "resuming…"


async def test_a_typed_pause_is_asked_by_the_name_that_it_means(clock: Clock) -> None:
    async with staged(clock) as harness:
        await harness.see(account())
        await harness.press("colon", *"pause SaaS", "space", *"for", "space", *"2h", "enter")
        await harness.pilot.pause()
        assert isinstance(harness.app.screen, ConfirmDialog)
        title = str(harness.app.screen.query_one(".dialog-title", Static).render())
        assert title == "Pause SaaS founders – Europe until 16:32 UTC?"


async def test_a_timed_pause_takes_three_keys(clock: Clock) -> None:
    async with staged(clock) as harness:
        await harness.see(account())
        await harness.press("2", "P", "2", "y")
        await harness.pilot.pause()
        assert harness.service.lines == ["pause sq_0 for 2h"]


async def test_a_timed_pause_says_until_when_and_by_whom(clock: Clock) -> None:
    async with staged(clock) as harness:
        await harness.see(account(pauses=()))
        await harness.press("2", "P")
        assert isinstance(harness.app.screen, HoursDialog)
        title = str(harness.app.screen.query_one(".dialog-title", Static).content)
        assert title == f"Pause {NAMES[0]} for how long?"
        await harness.press("2")
        assert "until 16:32 UTC, then resumes" in str(
            harness.app.screen.query_one(".dialog-text", Static).content
        )
        await harness.press("y")
        await harness.pilot.pause(0.2)
        clock.advance(2)
        end = PauseEnd(sequence="sq_0", until=(NOW + timedelta(hours=2)).timestamp(), by="ann")
        before = account(now=clock(), pauses=())
        after = replace(paused(account(now=clock()), 0), pauses=(end,))
        await harness.see(after)
        assert [note.message for note in harness.app._notifications] == [
            f"{NAMES[0]} is paused until 16:32, by you. Press u to undo."
        ]
        changed = [line.text for line in between(before, after, at=clock())]
        assert changed == ["is paused", "is paused until 16:32 by ann"]
        await harness.press("enter")
        assert isinstance(harness.app.screen, DetailScreen)
        assert harness.app.screen.page
        facts = {fact.label: fact.value for fact in harness.app.screen.page.card.facts}
        assert facts["Paused until"] == "02 Mar 16:32"
        assert facts["Paused by"] == "ann"
        assert from_json(to_json(after)).pauses == (end,)
