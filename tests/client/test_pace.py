"""Ten requests a second, simulated: any arrivals, any lateness, any way."""

from __future__ import annotations

import heapq
import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api import pace
from shared.api.pace import BURST, Pace, Priority
from tests.client.scripted_server import worst_second

T = 1 / 9.5
START = 1_700_000_000.0
ARRIVALS = st.lists(
    st.tuples(st.floats(min_value=0, max_value=3), st.sampled_from(list(Priority))), min_size=1, max_size=60
)
BUNCHES = st.lists(
    st.tuples(st.floats(min_value=0, max_value=4), st.integers(min_value=1, max_value=7)), max_size=8
)
MIXED = st.builds(
    lambda others, people: sorted(
        others + [(at, Priority.INTERACTIVE) for at, count in people for _ in range(count)]
    ),
    ARRIVALS,
    BUNCHES,
)
LATENESS = st.lists(st.floats(min_value=0, max_value=0.04), min_size=1, max_size=7)
OPENINGS = st.lists(st.floats(min_value=0, max_value=0.07), min_size=1, max_size=5)
# They differ by less than 40 ms, for which a rate of 9.5 leaves room.
WAYS = st.lists(st.floats(min_value=0.1, max_value=0.138), min_size=1, max_size=5)


def simulate(
    arrivals: list[tuple[float, Priority]],
    lateness: list[float],
    row: Pace | None = None,
    *,
    interval: float = T,
    opening: list[float] | None = None,
) -> list[tuple[float, float, Priority]]:
    """(asked, went, priority) of each request, when every awakening is late by the next lateness.

    `opening`: seconds that a request spends on its connection after its turn.
    """
    row, late, order = row or Pace(), itertools.cycle(lateness), itertools.count()
    events: list[tuple[float, int, float, Priority, float | None]] = [
        (START + at, next(order), START + at, priority, None) for at, priority in arrivals
    ]
    heapq.heapify(events)
    went, ways = [], itertools.cycle(opening or [0.0])
    while events:
        now, _, asked, priority, opened = heapq.heappop(events)
        if opened is not None:
            row = pace.late(row, now, opened)
            went.append((asked, now, priority))
            continue
        row, wait = pace.take(row, now, priority, interval=interval)
        if wait:
            heapq.heappush(events, (now + wait + next(late), next(order), asked, priority, None))
        elif way := next(ways):
            heapq.heappush(events, (now + way, next(order), asked, priority, way))
        else:
            went.append((asked, now, priority))
    return went


@given(MIXED, LATENESS, st.sampled_from([0.2, 1.0, 4.5, 9.0, 9.5, 10.0]))
def test_no_second_ever_holds_more_than_ten_nor_than_the_rate(
    arrivals: list[tuple[float, Priority]], lateness: list[float], rate: float
) -> None:
    went = simulate(arrivals, lateness, interval=pace.interval_of(rate))
    assert len(went) == len(arrivals)
    assert worst_second([at for _, at, _ in went]) <= -(-rate // 1)


@given(MIXED, LATENESS, WAYS, OPENINGS)
def test_not_even_when_connections_take_their_time_and_the_way_takes_now_longer_now_shorter(
    arrivals: list[tuple[float, Priority]], lateness: list[float], ways: list[float], opening: list[float]
) -> None:
    went = simulate(arrivals, lateness, opening=opening)
    assert worst_second([at for _, at, _ in went]) <= 10
    times = zip(simulate(arrivals, lateness), itertools.cycle(ways), strict=False)
    moments = [at + way for (_, at, _), way in times]
    assert worst_second(moments) <= 10
    # The service may count in any second or by those of its clock: both must hold.
    assert max(Counter(int(at) for at in moments).values()) <= 10


@given(st.lists(st.integers(min_value=0, max_value=8), min_size=1, max_size=8), LATENESS)
def test_a_person_waits_two_slots_at_most(people: list[int], lateness: list[float]) -> None:
    bulk = [(0.0, Priority.BULK)] * 40
    arrivals = bulk + [(0.5 * at, Priority.INTERACTIVE) for at in sorted(set(people))]
    for asked, went, priority in simulate(arrivals, lateness):
        assert priority is not Priority.INTERACTIVE or went - asked <= 2 * T + 2 * max(lateness)


def test_what_one_command_reads_goes_at_once_where_the_key_was_quiet() -> None:
    went = simulate([(0.0, Priority.INTERACTIVE)] * BURST, [0.0])
    assert [at - START for _, at, _ in went] == [0.0] * BURST


def test_a_long_job_keeps_the_rate_although_each_awakening_is_a_little_late() -> None:
    went = simulate([(0.0, Priority.BULK)] * 200, [0.004])
    last = max(at for _, at, _ in went) - START
    assert 200 / last >= 9.4


def test_a_429_stops_all_then_half_the_rate_and_no_burst() -> None:
    # After a 429 another program may use the key as well, hence half the rate and no bursts.
    row = pace.stop(Pace(sent=(START - 1.0,)), START, 5.0, interval=T)
    went = simulate([(0.0, Priority.INTERACTIVE)] * 3, [0.0], row)
    waits = [at - START for _, at, _ in went]
    assert waits == pytest.approx([5.0, 5.0 + 2 * T, 5.0 + 4 * T], abs=0.02)


def test_no_stop_is_longer_than_a_minute() -> None:
    # A Retry-After of a year is a mistake: after a minute a request is tried.
    row = pace.stop(Pace(), START, 31_536_000.0, interval=T)
    assert row.resumes_at == START + 60
    assert pace.settled(row, START) == row
    assert pace.take(row, START + 60.001, Priority.BULK, interval=T)[1] == 0.0


def test_a_clock_that_was_set_back_holds_nobody_up_for_long() -> None:
    # No wait explains times ahead of the clock: what may have gone unseen is waited out, a second and no day.
    row = Pace(sent=(START,), resumes_at=START + 50.0, held=START + 1)
    _, wait = pace.take(row, START - 86_400.0, Priority.NORMAL, interval=T)
    assert wait <= 1.1
