"""What the line mode reports: what is on, then each change once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from shared.domain.failures import UNREACHABLE
from shared.domain.snapshot import Snapshot
from shared.records.replies import InterestedReply
from tests.tui.accounts import NOW, account, failing, tick_of
from tui.feed.workspace_state import WorkspaceState
from tui.model.news.line_report import LineReport
from tui.model.workspace import changes as changes_between

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)


class Follower:
    """A workspace that is followed from one snapshot to the next, as by `--lines`."""

    def __init__(self) -> None:
        self.state = WorkspaceState(workspace="acme")
        self.report = LineReport("acme")
        self._last = Snapshot(workspace="acme")

    def recall(self, snapshot: Snapshot) -> None:
        self.state.take(tick_of(snapshot, beats=0), now=NOW)
        self.report.recall(snapshot)
        self._last = snapshot

    def look(self, snapshot: Snapshot, *, at: datetime) -> list[str]:
        found = changes_between.between(self._last, snapshot, at=at)
        self._last = snapshot
        tick = tick_of(snapshot, changes=found)
        self.state.take(tick, now=at)
        return self.report.take(snapshot, tick.board, alarms=self.state.alarms, changes=found, now=at)


def healthy(at: datetime = NOW, **more: Any) -> Snapshot:
    """An account in which nothing is wrong."""
    snapshot = account(now=at)
    boxes = tuple(replace(box, health_score=95.0, status="active") for box in snapshot.inboxes.value or ())
    return replace(snapshot, inboxes=replace(snapshot.inboxes, value=boxes), **more)


def with_domain(snapshot: Snapshot, domain: str, *, resting: int) -> Snapshot:
    """The same with that many inboxes of a domain resting, and its others warming up."""
    boxes, left = [], resting
    for box in snapshot.inboxes.value or ():
        rests = left > 0 and box.domain == domain
        left -= rests
        status = "resting" if rests else "warming" if box.domain == domain else box.status
        boxes.append(replace(box, status=status))
    return replace(snapshot, inboxes=replace(snapshot.inboxes, value=tuple(boxes)))


def later(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def test_it_begins_with_the_verdict_and_what_is_wrong_and_with_no_change_of_the_past() -> None:
    follower = Follower()
    follower.recall(healthy())
    lines = follower.look(with_domain(healthy(later(60)), "useacme.example", resting=6), at=later(60))
    assert lines == [
        "1 of 4 domains paused · 6 of 24 inboxes not sending",
        "useacme.example paused, 6 inboxes not sending since 14:33",
    ]


def test_nothing_is_reported_before_every_source_was_asked_for() -> None:
    follower, past, present = Follower(), healthy(), healthy(later(60))
    follower.recall(past)
    assert follower.look(replace(present, today=past.today), at=later(60)) == []
    assert follower.look(present, at=later(61)) == ["All 24 inboxes are healthy"]


def test_a_pause_a_worse_and_a_better_moment_and_the_recovery_are_one_line_each() -> None:
    follower = Follower()
    looks: Sequence[tuple[int, int]] = (
        (0, 0),
        (60, 2),
        (120, 6),
        (180, 6),
        (240, 1),
        (300, 0),
        (340, 0),
        (400, 0),
    )
    reported = {
        seconds: follower.look(
            with_domain(healthy(later(seconds)), "useacme.example", resting=resting), at=later(seconds)
        )
        for seconds, resting in looks
    }
    assert reported == {
        0: ["All 24 inboxes are healthy"],
        60: ["useacme.example 2 resting"],
        120: ["useacme.example: now paused, 6 inboxes not sending"],
        180: [],
        240: ["useacme.example: now 1 resting"],
        300: [],
        340: ["useacme.example recovered after 4 min, at its worst: paused, 6 inboxes not sending"],
        400: [],
    }


def test_a_failing_service_its_staleness_and_its_recovery_are_lines_told_once() -> None:
    follower, whole = Follower(), healthy()
    assert follower.look(whole, at=NOW) == ["All 24 inboxes are healthy"]
    down = failing(whole, since=later(30))
    assert follower.look(down, at=later(30)) == [UNREACHABLE]
    assert follower.look(down, at=later(60)) == []
    board = tick_of(down).board
    told = [
        line for seconds in range(60, 3600) for line in follower.report.staleness(board, now=later(seconds))
    ]
    named = [
        name for line in told for name in line.removeprefix("Stale: ").partition(", last")[0].split(", ")
    ]
    assert {"inboxes", "sequences", "stats by step"} < {*named}
    assert len(named) == len({*named})
    assert told[0] == "Stale: sequences, interested, last read 14:32"
    back = [
        line
        for seconds in (3600, 3601, 3631, 3632)
        for line in follower.look(healthy(later(3600)), at=later(seconds))
    ]
    assert back == [
        "Nothing is stale any more",
        f"The service can be read again after 59 min, at its worst: {UNREACHABLE}",
    ]


def test_without_a_reading_of_its_own_it_claims_no_verdict() -> None:
    follower, past = Follower(), with_domain(healthy(), "useacme.example", resting=6)
    follower.recall(past)
    lines = follower.look(failing(past, since=later(3600)), at=later(3600))
    assert lines[0] == "Inbox health is unknown, last read 14:32"
    assert not any("useacme" in line for line in lines)
    assert lines[-1].startswith("Stale: ")
    assert "All 24 inboxes are healthy" in follower.look(healthy(later(3660)), at=later(3660))


def test_sequences_and_interested_leads_are_lines_without_control_characters() -> None:
    follower, whole = Follower(), healthy()
    follower.look(whole, at=NOW)
    sequences, leads = whole.sequences.value or (), whole.interested.value or ()
    hostile = replace(leads[0], id="ld_new", first_name="\x1b]0;own\x07Eve\nlin", company="Evil\x9b31m")
    lines = follower.look(
        replace(
            whole,
            sequences=replace(
                whole.sequences, value=(replace(sequences[0], status="paused"), *sequences[1:])
            ),
            interested=replace(whole.interested, value=(hostile, *leads)),
        ),
        at=later(30),
    )
    assert lines == [f"{sequences[0].label} is paused", "Eve lin Sharma of Evil is interested"]


def test_a_claim_and_a_release_are_lines_and_what_was_claimed_before_is_not() -> None:
    follower, whole = Follower(), healthy()
    replies = [InterestedReply(email=f"{n}@a.example", received_at=NOW, claimed_by="Ann") for n in "ab"]
    steps = (
        tuple(replies),
        (),  # the records can't be read
        (replies[0], replace(replies[1], claimed_by="")),
        (replies[0], replace(replies[1], claimed_by="Ben")),
    )
    told = [
        follower.look(replace(whole, replies=step), at=later(number)) for number, step in enumerate(steps)
    ]
    assert told[1:] == [[], ["b@a.example released by Ann"], ["b@a.example claimed by Ben"]]


@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=12))
def test_the_same_state_again_is_never_a_line_again(looks: list[tuple[int, bool]]) -> None:
    follower, at = Follower(), NOW
    follower.look(healthy(), at=at)
    for resting, fails in looks:
        at += 40 * SECOND
        snapshot = with_domain(healthy(at), "useacme.example", resting=resting)
        snapshot = failing(snapshot, since=at) if fails else snapshot
        for _ in range(2):  # a recovery is told when it has lasted
            follower.look(snapshot, at=at)
            at += 31 * SECOND
        assert follower.look(snapshot, at=at) == []
