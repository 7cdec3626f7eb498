"""The arithmetic of ten requests a second, simulated: any arrivals, any lateness, any clock."""

from __future__ import annotations

import heapq
import itertools
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from shared.api import pacing
from shared.api.pacing import Pace, Priority, Turn
from tests.shared.api.stage import worst_second

T = 1 / 9.5
START = 1_700_000_000.0

ARRIVALS = st.lists(
    st.tuples(st.floats(min_value=0, max_value=3), st.sampled_from(list(Priority))), min_size=1, max_size=60
)
LATENESS = st.lists(st.floats(min_value=0, max_value=0.04), min_size=1, max_size=7)


def simulate(
    arrivals: list[tuple[float, Priority]], lateness: list[float], pace: Pace | None = None
) -> list[tuple[float, float, Priority]]:
    """(asked, went, priority) of each request, when every awakening is late by the next lateness."""
    pace, late, order = pace or Pace(interval=T), itertools.cycle(lateness), itertools.count()
    events: list[tuple[float, int, float, Priority, Turn | None]] = [
        (START + at, next(order), START + at, priority, None) for at, priority in arrivals
    ]
    heapq.heapify(events)
    went = []
    while events:
        now, _, asked, priority, turn = heapq.heappop(events)
        if turn is None:
            pace, turn = pacing.join(pace, now, priority=priority)
        pace, wait = pacing.pass_gate(pace, now, turn)
        if wait:
            heapq.heappush(events, (now + wait + next(late), next(order), asked, priority, turn))
        else:
            went.append((asked, now, priority))
    return went


@given(ARRIVALS, LATENESS)
def test_no_second_ever_holds_more_than_ten(
    arrivals: list[tuple[float, Priority]], lateness: list[float]
) -> None:
    went = simulate(arrivals, lateness)
    assert len(went) == len(arrivals)
    assert worst_second([at for _, at, _ in went]) <= 10


@given(ARRIVALS, LATENESS, st.lists(st.floats(min_value=0.1, max_value=0.138), min_size=1, max_size=5))
def test_not_even_when_the_way_takes_now_longer_now_shorter(
    arrivals: list[tuple[float, Priority]], lateness: list[float], travel: list[float]
) -> None:
    times = zip(simulate(arrivals, lateness), itertools.cycle(travel), strict=False)
    assert worst_second([at + way for (_, at, _), way in times]) <= 10


@given(
    st.integers(min_value=1, max_value=60),
    st.lists(st.floats(min_value=0, max_value=0.9 * pacing.SLACK), min_size=1),
)
def test_a_little_lateness_costs_no_rate(count: int, lateness: list[float]) -> None:
    went = simulate([(0.0, Priority.BULK)] * count, lateness)
    assert went[-1][1] - START <= (count - 1) * T + 0.02


@given(st.lists(st.floats(min_value=0, max_value=3), min_size=1, max_size=40), LATENESS)
def test_first_come_is_first_served(arrivals: list[float], lateness: list[float]) -> None:
    went = simulate([(at, Priority.NORMAL) for at in arrivals], [min(lateness) / 4])
    assert [asked for asked, _, _ in went] == sorted(asked for asked, _, _ in went)


@given(
    st.lists(st.floats(min_value=0, max_value=2), max_size=40),
    st.lists(st.integers(min_value=0, max_value=8), min_size=1, max_size=8, unique=True),
    LATENESS,
)
def test_a_person_waits_two_slots_at_most_whatever_else_goes_on(
    bulk: list[float], people: list[int], lateness: list[float]
) -> None:
    arrivals = [(at, Priority.BULK) for at in bulk] + [(0.3 * at, Priority.INTERACTIVE) for at in people]
    for asked, went, priority in simulate(arrivals, lateness):
        assert priority is not Priority.INTERACTIVE or went - asked <= 2 * T + 2 * max(lateness)


@given(st.floats(min_value=0, max_value=100), st.integers(min_value=0, max_value=9))
def test_a_429_stops_everybody_and_keeps_the_order(retry_after: float, waiting: int) -> None:
    pace, turns = Pace(interval=T), []
    for number in range(waiting + 1):
        pace, turn = pacing.join(pace, START + number / 1000, priority=Priority.NORMAL)
        turns.append(turn)
    pace, wait = pacing.pass_gate(pace, START + 0.01, turns[0])
    assert not wait
    stopped = pacing.stop(pace, START + 0.05, retry_after, base=T)
    waits = [pacing.wait_of(stopped, START + 0.05, turn) for turn in turns[1:]]
    assert all(wait >= retry_after - 1e-6 for wait in waits)
    assert waits == sorted(waits)
    assert pacing.view(stopped, START + 0.05).throttled_count == 1


def test_a_bunch_of_429s_slows_down_once_and_clean_answers_bring_the_rate_back() -> None:
    pace = Pace(interval=T)
    for _ in range(5):
        pace = pacing.stop(pace, START, 1.0, base=T)
    assert abs(pacing.view(pace, START).rate - 9.5 / 1.25) < 1e-9
    for later in range(2, 40, 2):
        pace = pacing.stop(pace, START + later, 1.0, base=T)
    assert pacing.view(pace, START).rate == 5.0
    rates = []
    for _ in range(60):
        pace = pacing.recover(pace, 50, base=T)
        rates.append(1 / pace.interval)
    assert rates == sorted(rates)
    assert rates[-1] == 9.5


@given(st.floats(min_value=0.5, max_value=1e6), st.integers(min_value=1, max_value=20))
def test_a_clock_that_steps_back_makes_nobody_wait_for_it(step: float, waiting: int) -> None:
    pace, turns = Pace(interval=T), []
    for _ in range(waiting):
        pace, turn = pacing.join(pace, START, priority=Priority.NORMAL)
        turns.append(turn)
        pace, _ = pacing.pass_gate(pace, START, turns[0]) if len(turns) == 1 else (pace, 0.0)
    pace, newcomer = pacing.join(pace, START - step, priority=Priority.NORMAL)
    assert pacing.wait_of(pace, START - step, newcomer) <= (waiting + 2) * T + 1e-6
    for turn in turns:
        assert pacing.wait_of(pace, START - step, turn) <= (waiting + 2) * T + 1e-6


@given(st.floats(min_value=1, max_value=1e8))
def test_after_any_rest_the_first_goes_at_once_and_the_next_in_its_turn(rest: float) -> None:
    pace = replace(Pace(interval=T), gate=START, line=START + 3 * T)
    went = simulate([(rest, Priority.NORMAL)] * 3, [0.0], pace)
    assert went[0][1] == went[0][0]
    assert went[2][1] - went[0][1] >= 2 * T - 1e-6
