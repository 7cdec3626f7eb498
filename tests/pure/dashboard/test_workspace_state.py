"""A workspace over several readings: which alarms it raises, since when, and what a person has acknowledged."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import timedelta

from shared.domain.snapshot import REJECTED, UNREADABLE, Snapshot
from shared.records import DomainPast, DomainPause
from tests.kit.snapshots import NOW, account, failing, fired, reading, tick_of
from tui.feed.workspace_state import WorkspaceState
from tui.model.alarms import since_words
from tui.model.board import DomainFacts
from tui.model.columns import Arrangement
from tui.model.frame import DOMAINS
from tui.model.happened import Mark, MarkKind

MINUTE = timedelta(minutes=1)
ONE, OTHER = "useacme.example", "getacme.example"


def resting(*domains: str, minutes: float = 0) -> Snapshot:
    """The inboxes of these domains rest, and all others are healthy."""
    boxes = tuple(
        replace(box, status="resting" if box.domain in domains else "active", health_score=90.0)
        for box in account().inboxes.value or ()
    )
    return replace(account(), inboxes=reading(boxes, at=NOW + minutes * MINUTE))


def seen(state: WorkspaceState, snapshot: Snapshot, *, minutes: float, beats: int = 1) -> list[str]:
    """What the alarms say that a reading raises."""
    now = NOW + minutes * MINUTE
    return [alarm.told(now) for alarm in state.take(tick_of(snapshot, beats=beats), now=now)]


def test_an_alarm_goes_off_at_the_edge_and_not_for_what_was_already_so() -> None:
    state = WorkspaceState(workspace="acme")
    assert seen(state, resting(ONE), minutes=0, beats=0) == [], "what was kept is not so now"
    assert list(state.alarms) == []
    assert seen(state, resting(ONE), minutes=0) == []
    assert list(state.alarms) == []
    assert seen(state, resting(ONE, minutes=1), minutes=1) == [], "it was so when the dashboard began"
    assert [since_words(alarm.condition, now=NOW) for alarm in state.alarms] == ["before 14:33"]
    told = "getacme.example paused, 6 inboxes not sending since 14:34"
    assert seen(state, resting(ONE, OTHER, minutes=2), minutes=2) == [told]
    assert seen(state, resting(ONE, OTHER, minutes=3), minutes=3) == []
    down = failing(resting(ONE, OTHER, minutes=3), since=NOW + 4 * MINUTE)
    told = "The outreach service can't be reached since 14:36"
    assert [seen(state, down, minutes=minutes) for minutes in (4, 5)] == [[told], []]
    assert all(not alarm.absent_since for alarm in state.alarms), "no domain is known to be well"


def test_what_is_acknowledged_together_is_taken_back_together() -> None:
    state, times = WorkspaceState(workspace="acme"), itertools.count()

    def new() -> list[str]:
        return [alarm.where for alarm in state.alarms if alarm.is_new]

    def pressed(where: str | None) -> list[str]:
        state.acknowledge(where, now=NOW + next(times) * MINUTE)
        return new()

    seen(state, resting(ONE, OTHER), minutes=0)
    assert sorted(new()) == [OTHER, ONE]
    assert pressed(ONE) == [OTHER]
    assert pressed(OTHER) == []
    assert pressed(None) == [OTHER], "the last one first"
    assert pressed(None) == []
    assert pressed(ONE) == [ONE]
    assert pressed(None) == []
    # What has recovered can't be taken back.
    for minutes in (1, 2):
        seen(state, resting(minutes=minutes), minutes=minutes)
    assert list(state.alarms) == []
    assert pressed(None) == []
    seen(state, resting(ONE, minutes=3), minutes=3)
    assert pressed(None) == []
    assert pressed(None) == [ONE]


def test_a_cause_that_comes_back_between_two_looks_begins_anew() -> None:
    state, readings = WorkspaceState(workspace="acme"), account().inboxes
    for minutes, cause, looks in ((1, REJECTED, True), (5, UNREADABLE, False), (16, REJECTED, True)):
        readings = readings.failed("no", cause=cause, at=NOW + minutes * MINUTE)
        if looks:
            seen(state, replace(account(), inboxes=readings), minutes=minutes)
    frame = state.frame(now=NOW + 16 * MINUTE)
    assert [since_words(alarm.condition, now=frame.now) for alarm in frame.alarms if not alarm.where] == [
        "14:48"
    ]
    assert f"{REJECTED} since 14:48 (0 s)" in frame.headline.text


def test_the_guardrail_of_a_domain_hides_neither_its_own_alarm_nor_its_start() -> None:
    state, at = WorkspaceState(workspace="acme"), (NOW + MINUTE).timestamp()
    seen(state, resting(OTHER), minutes=0)
    seen(
        state,
        replace(resting(ONE, OTHER, minutes=1), firings=(fired(subject=ONE, domain=ONE, began_at=at),)),
        minutes=1,
    )
    state.acknowledge(None, now=NOW)
    lines = {line.key: line for line in state.frame(now=NOW).domain_lines}
    assert [lines[name].is_acknowledged for name in (ONE, OTHER)] == [True, True]
    assert [lines[name].since for name in (ONE, OTHER)] == ["14:33", "before 14:32"]
    in_order = Arrangement(order="since").of([*lines.values()], DOMAINS)
    assert [line.key for line in in_order][:2] == [OTHER, ONE], "by the time, not by its words"


def test_the_newest_changes_come_first_and_the_oldest_are_dropped() -> None:
    state = WorkspaceState(workspace="acme")
    marks = tuple(Mark(at=NOW - n * MINUTE, kind=MarkKind.PAUSED, subject="", text="") for n in range(300))
    for later in (marks[150:], marks[:150]):
        state.take(tick_of(account(), changes=later), now=NOW)
    assert state.frame(now=NOW).changes == marks[:200]


def test_what_a_frame_has_worked_out_holds_for_the_next_until_something_or_the_day_is_another() -> None:
    state = WorkspaceState(workspace="acme")
    seen(state, resting(ONE), minutes=0)
    lines = state.frame(now=NOW).domain_lines
    assert state.frame(now=NOW + MINUTE).domain_lines is lines
    assert state.frame(now=NOW + 1440 * MINUTE).domain_lines[0].since == "before 02 Mar 14:32"
    state.acknowledge(ONE, now=NOW)
    assert state.frame(now=NOW + 1440 * MINUTE).domain_lines[0].is_acknowledged
    seen(state, resting(ONE, OTHER, minutes=1), minutes=1)
    assert [line.since for line in state.frame(now=NOW).domain_lines[:2]] == ["14:33", "before 14:32"]


def test_the_past_knows_the_pauses_that_had_begun_as_they_stood_then() -> None:
    first = DomainPause(at=NOW - 180 * MINUTE, reason="bounces", recovered_at=NOW)
    later = DomainPause(at=NOW - 30 * MINUTE, reason="spam")
    over = DomainPause(at=NOW - 400 * MINUTE, recovered_at=NOW - 300 * MINUTE)
    facts = DomainFacts(
        pasts={
            ONE: DomainPast(reason="spam", pauses=(later, first, over), bounced=40, sequences=("Q3",)),
            OTHER: DomainPast(reason="spam", pauses=(later,)),
        },
        broken={ONE: ("SPF",)},
    )
    then = facts.known_at(NOW - 60 * MINUTE)
    assert then.pasts[ONE] == DomainPast(
        reason="spam", pauses=(replace(first, recovered_at=None), over), sequences=("Q3",)
    )
    assert then.pasts[OTHER] == DomainPast()
    assert then.broken == {}
    assert then.pauses == {ONE: replace(first, recovered_at=None)}
    assert facts.known_at(NOW).pasts[ONE].pauses == (later, replace(first, recovered_at=None), over)
    assert facts.known_at(NOW + MINUTE).pauses == {ONE: later, OTHER: later}
