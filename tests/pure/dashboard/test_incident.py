"""Lanes of an incident: rebuilt from the present and what changed, and drawn."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api.models import Inbox
from shared.domain.health import roll_up, verdict
from shared.records import Transition
from tests.kit.snapshots import NOW
from tui.model.incident import Incident, Lane, LaneState, lanes_of
from tui.screens.incidents import range_for

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
START = NOW - 6 * HOUR
DOMAIN, OTHER = "useacme.example", "tryacme.example"
SCORES = {"healthy": 90.0, "at risk": 70.0, "bad": 30.0, "unknown": None}


def inbox(name: str, status: str = "active", health: str = "healthy", *, domain: str = DOMAIN) -> Inbox:
    return Inbox(email=f"{name}@{domain}", status=status, health_score=SCORES[health], daily_limit=40)


def change(
    name: str, before: str, after: str, *, ago: timedelta, field: str = "status", domain: str = DOMAIN
) -> Transition:
    key = f"{name}@{domain}"
    return Transition(at=NOW - ago, kind="inbox", key=key, label=key, field=field, before=before, after=after)


def lanes(inboxes: list[Inbox], *changes: Transition) -> tuple[Lane, ...]:
    newest_first = sorted(changes, key=lambda one: one.at, reverse=True)
    known_from = {one.domain: START for one in inboxes}
    read = [(START - HOUR, NOW)]
    return lanes_of(inboxes, newest_first, start=START, end=NOW, known_from=known_from, read=read)


def test_troubled_domains_come_first_in_the_order_in_which_it_began() -> None:
    found = lanes(
        [inbox("a", domain="calm.example"), inbox("b", health="at risk", domain="risk.example"),
         inbox("c", "resting", domain=OTHER), inbox("d", health="bad")],
        change("c", "active", "resting", ago=HOUR, domain=OTHER),
        change("d", "healthy", "bad", ago=2 * HOUR, field="health"),
    )  # fmt: skip
    assert [lane.domain for lane in found] == [DOMAIN, OTHER, "risk.example", "calm.example"]
    incident = Incident(start=START, end=NOW, lanes=found)
    assert incident.summary == "2 of 4 domains affected · 1 paused for 1 h · 1 inbox stopped"
    assert Incident(start=START, end=NOW, lanes=found[2:]).summary.startswith("No domain was paused")
    assert "Nothing is known" in Incident(start=START, end=NOW).summary


STATUSES = ("active", "warming", "resting", "unknown", "snoozed")


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.booleans(), st.integers(0, 4), st.integers(1, 350)),
        max_size=25,
        unique_by=lambda one: one[3],
    )
)
def test_a_lane_says_at_every_time_what_the_verdict_said_then(
    moves: list[tuple[int, bool, int, int]],
) -> None:
    """Played forwards into verdicts, and backwards into lanes."""
    words = {n: ["active", "healthy"] for n in range(4)}
    names = {n: (f"p{n}", DOMAIN if n < 3 else OTHER) for n in range(4)}

    def now() -> list[Inbox]:
        return [
            Inbox(email=f"{name}@{domain}", status=None if words[n][0] == "unknown" else words[n][0],
                  health_score=SCORES[words[n][1]], daily_limit=1)
            for n, (name, domain) in names.items()
        ]  # fmt: skip

    past, found = [(START, now())], []
    for n, is_status, word, ago in sorted(moves, key=lambda one: -one[3]):
        after = STATUSES[word] if is_status else tuple(SCORES)[word % 4]
        before = words[n][not is_status]
        if before == after:
            continue
        words[n][not is_status] = after
        name, domain = names[n]
        found.append(
            change(
                name,
                before,
                after,
                ago=ago * MINUTE,
                field="status" if is_status else "health",
                domain=domain,
            )
        )
        past.append((NOW - ago * MINUTE, now()))
    for lane in lanes(now(), *found):
        assert [one.end for one in lane.segments[:-1]] == [one.start for one in lane.segments[1:]]
        for at, inboxes in past:
            segment = lane.at(at + MINUTE / 2)
            (whole,) = (one for one in roll_up(inboxes) if one.domain == lane.domain)
            ours = [verdict(one) for one in inboxes if one.domain == lane.domain]
            assert segment
            assert (segment.state is LaneState.PAUSED) == whole.paused
            assert (segment.state in {LaneState.PAUSED, LaneState.RESTING}) == (whole.resting > 0)
            assert segment.state.tone is whole.tone
            assert (segment.state is LaneState.WARMING) == (
                whole.tone.value == "good" and any(one.word == "warming" for one in ours)
            )


@pytest.mark.parametrize(
    ("hours", "span"), [(None, 24), (1, 6), (5.2, 6), (5.3, 24), (20, 24), (21, 168), (145, 168), (999, 168)]
)
def test_the_lanes_begin_before_the_first_alarm(hours: float | None, span: int) -> None:
    since = None if hours is None else NOW - hours * HOUR
    assert range_for(since, now=NOW) == span * HOUR
