"""The arithmetic of ten requests a second, simulated: any arrivals, any lateness, any clock."""

from __future__ import annotations

import heapq
import itertools
import math
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api.http import rate_limit
from shared.api.http.rate_limit import Pace, Priority, Turn
from tests.shared.api.scripted_server import worst_second

T = 1 / 9.5
START = 1_700_000_000.0

ARRIVALS = st.lists(
    st.tuples(st.floats(min_value=0, max_value=3), st.sampled_from(list(Priority))), min_size=1, max_size=60
)
BUNCHES = st.tuples(st.floats(min_value=0, max_value=4), st.integers(min_value=1, max_value=7))
"""Commands that read several things at once, in the middle of whatever else goes on."""
MIXED = st.builds(
    lambda others, people: sorted(
        others + [(at, Priority.INTERACTIVE) for at, count in people for _ in range(count)]
    ),
    ARRIVALS,
    st.lists(BUNCHES, max_size=8),
)
LATENESS = st.lists(st.floats(min_value=0, max_value=0.04), min_size=1, max_size=7)


def simulate(
    arrivals: list[tuple[float, Priority]],
    lateness: list[float],
    pace: Pace | None = None,
    *,
    opening: list[float] | None = None,
) -> list[tuple[float, float, Priority]]:
    """(asked, went, priority) of each request, when every awakening is late by the next lateness.

    `opening`: seconds that a request spends on its connection after its turn.
    """
    pace, late, order = pace or Pace(interval=T), itertools.cycle(lateness), itertools.count()
    events: list[tuple[float, int, float, Priority, Turn | None]] = [
        (START + at, next(order), START + at, priority, None) for at, priority in arrivals
    ]
    heapq.heapify(events)
    went, ways = [], itertools.cycle(opening or [0.0])
    opened: dict[int, float] = {}
    while events:
        now, number, asked, priority, turn = heapq.heappop(events)
        if number in opened:
            pace = rate_limit.late(pace, now, opened[number])
            went.append((asked, now, priority))
            continue
        if turn is None:
            pace, turn = rate_limit.join(pace, now, priority=priority)
        pace, wait = rate_limit.pass_gate(pace, now, turn)
        if wait:
            heapq.heappush(events, (now + wait + next(late), next(order), asked, priority, turn))
        elif way := next(ways):
            opened[again := next(order)] = way
            heapq.heappush(events, (now + way, again, asked, priority, turn))
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
    ARRIVALS,
    LATENESS,
    st.lists(st.floats(min_value=0.1, max_value=0.138), min_size=1, max_size=5),
    st.floats(min_value=9.0, max_value=10.0),
)
def test_not_even_at_the_highest_rate_that_can_be_set(
    arrivals: list[tuple[float, Priority]], lateness: list[float], travel: list[float], rate: float
) -> None:
    went = simulate(arrivals, lateness, Pace(interval=rate_limit.interval_of(rate)))
    times = [at + way for (_, at, _), way in zip(went, itertools.cycle(travel), strict=False)]
    assert worst_second(times) <= rate_limit.LIMIT


def admits(form: str, moments: list[float], phase: float) -> bool:
    """Whether a service that counts in this form takes them all: ten in a second, however one second is meant."""
    if form == "fixed":
        return max(Counter(int(at + phase) for at in moments).values()) <= 10
    if form == "sliding":
        return worst_second(moments) <= 10
    level, before = 10.0, moments[0]
    for at in moments:
        level, before = min(10.0, level + 10 * (at - before)) - 1, at
        if level < 0:
            return False
    return True


@pytest.mark.parametrize("form", ["fixed", "sliding", "bucket"])
@given(
    arrivals=MIXED,
    lateness=LATENESS,
    travel=st.lists(st.floats(min_value=0.1, max_value=0.138), min_size=1, max_size=5),
    phase=st.floats(min_value=0, max_value=1),
)
def test_people_in_a_hurry_earn_no_429_under_any_form_of_the_limit(
    form: str,
    arrivals: list[tuple[float, Priority]],
    lateness: list[float],
    travel: list[float],
    phase: float,
) -> None:
    went = zip(simulate(arrivals, lateness), itertools.cycle(travel), strict=False)
    assert admits(form, sorted(at + way for (_, at, _), way in went), phase)


@given(MIXED, LATENESS, st.floats(min_value=2.0, max_value=9.4))
def test_a_lower_rate_is_kept_by_people_too(
    arrivals: list[tuple[float, Priority]], lateness: list[float], rate: float
) -> None:
    went = [at for _, at, _ in simulate(arrivals, lateness, Pace(interval=1 / rate))]
    assert worst_second([1.02 * (at - START) for at in went]) <= math.ceil(rate)


@given(MIXED, LATENESS, st.lists(st.floats(min_value=0, max_value=0.079), min_size=1, max_size=5))
def test_connections_that_take_their_time_bring_no_bunch(
    arrivals: list[tuple[float, Priority]], lateness: list[float], opening: list[float]
) -> None:
    went = simulate(arrivals, lateness, opening=opening)
    assert worst_second([at for _, at, _ in went]) <= 10


def test_what_one_command_reads_goes_at_once_where_the_key_was_quiet() -> None:
    went = simulate([(5.0, Priority.INTERACTIVE)] * 7, [0.0], replace(Pace(interval=T), gate=START))
    waits = [went_at - asked for asked, went_at, _ in went]
    assert waits[: rate_limit.BURST] == [0.0] * rate_limit.BURST
    assert waits[rate_limit.BURST] > T / 2


def test_a_whole_burst_whose_connections_took_their_time_counts_from_when_it_went() -> None:
    people = [(0.2 * number, Priority.INTERACTIVE) for number in range(12)]
    went = simulate([*[(0.0, Priority.INTERACTIVE)] * 5, *people], [0.0], opening=[*[0.075] * 5, *[0.0] * 90])
    assert worst_second([at for _, at, _ in went]) <= 10


@given(MIXED, st.floats(min_value=0, max_value=0.1))
def test_a_bunch_may_be_held_up_as_one(arrivals: list[tuple[float, Priority]], held_up: float) -> None:
    went = sorted(at for _, at, _ in simulate(arrivals, [0.0]))
    bunch = [at for at in went if at - went[0] < 0.01]
    assert worst_second([*(at + held_up for at in bunch), *went[len(bunch) :]]) <= 10 or len(bunch) < 3


def test_those_who_follow_a_burst_pay_it_back() -> None:
    hurried = [(0.0, Priority.INTERACTIVE)] * rate_limit.BURST
    went = simulate([*hurried, *[(0.0, Priority.BULK)] * 20], [0.0])
    assert went[-1][1] - START >= 24 * T - 2 * rate_limit.SLACK


def test_no_request_goes_early_for_a_while_after_a_429() -> None:
    stopped = rate_limit.stop(Pace(interval=T), START, 1.0, base=T)
    for later, waits in ((30.0, True), (90.0, False)):
        went = simulate([(later, Priority.INTERACTIVE)] * 3, [0.0], stopped)
        assert (went[-1][1] - went[-1][0] > T) is waits


@given(
    st.integers(min_value=1, max_value=60),
    st.lists(st.floats(min_value=0, max_value=0.9 * rate_limit.SLACK), min_size=1),
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
def test_a_person_waits_two_slots_at_most(
    bulk: list[float], people: list[int], lateness: list[float]
) -> None:
    arrivals = [(at, Priority.BULK) for at in bulk] + [(0.3 * at, Priority.INTERACTIVE) for at in people]
    for asked, went, priority in simulate(arrivals, lateness):
        assert priority is not Priority.INTERACTIVE or went - asked <= 2 * T + 2 * max(lateness)


@given(st.floats(min_value=0, max_value=60), st.integers(min_value=0, max_value=9))
def test_a_429_stops_everybody_and_keeps_the_order(retry_after: float, waiting: int) -> None:
    pace, turns = Pace(interval=T), []
    for number in range(waiting + 1):
        pace, turn = rate_limit.join(pace, START + number / 1000, priority=Priority.NORMAL)
        turns.append(turn)
    pace, wait = rate_limit.pass_gate(pace, START + 0.01, turns[0])
    assert not wait
    stopped = rate_limit.stop(pace, START + 0.05, retry_after, base=T)
    waits = [rate_limit.wait_of(stopped, START + 0.05, turn) for turn in turns[1:]]
    assert all(wait >= retry_after - 1e-6 for wait in waits)
    assert waits == sorted(waits)
    assert rate_limit.view(stopped, START + 0.05).throttled_count == 1


def test_places_taken_after_a_429_keep_their_order_too() -> None:
    pace, turns = rate_limit.stop(Pace(interval=T), START, 5.0, base=T), []
    for _ in range(4):
        pace, turn = rate_limit.join(pace, START + 1, priority=Priority.NORMAL)
        turns.append(turn)
    waits = [rate_limit.wait_of(pace, START + 1, turn) for turn in turns]
    assert waits == sorted(set(waits))


def test_a_stop_is_shown_until_it_is_over_and_a_request_for_a_second() -> None:
    pace, turn = rate_limit.join(Pace(interval=T), START, priority=Priority.NORMAL)
    pace, _ = rate_limit.pass_gate(pace, START, turn)
    stopped = rate_limit.stop(pace, START, 5.0, base=T)
    shown = [rate_limit.view(stopped, START + seconds) for seconds in (0, 0.99, 1, 4.9, 5)]
    assert [view.used_last_second for view in shown] == [1, 1, 0, 0, 0]
    assert [view.resumes_at for view in shown] == [START + 5] * 4 + [None]
    assert rate_limit.view(pace, START).resumes_at is None


def test_a_bunch_of_429s_slows_down_once_and_clean_answers_bring_the_rate_back() -> None:
    pace = Pace(interval=T)
    for _ in range(5):
        pace = rate_limit.stop(pace, START, 1.0, base=T)
    assert abs(rate_limit.view(pace, START).rate - 9.5 / 1.25) < 1e-9
    for later in range(2, 40, 2):
        pace = rate_limit.stop(pace, START + later, 1.0, base=T)
    assert rate_limit.view(pace, START).rate == 5.0
    rates = []
    for _ in range(60):
        pace = rate_limit.recover(pace, 50, base=T)
        rates.append(1 / pace.interval)
    assert rates == sorted(rates)
    assert rates[-1] == 9.5


@given(st.floats(min_value=0.5, max_value=1e6), st.integers(min_value=1, max_value=20))
def test_a_clock_set_back_delays_no_request(step: float, waiting: int) -> None:
    pace, turns = Pace(interval=T), []
    for _ in range(waiting):
        pace, turn = rate_limit.join(pace, START, priority=Priority.NORMAL)
        turns.append(turn)
        pace, _ = rate_limit.pass_gate(pace, START, turns[0]) if len(turns) == 1 else (pace, 0.0)
    pace, newcomer = rate_limit.join(pace, START - step, priority=Priority.NORMAL)
    longest = waiting * T + pace.span + 1e-6
    for turn in (newcomer, *turns):
        assert rate_limit.wait_of(pace, START - step, turn) <= longest


@given(st.floats(min_value=1, max_value=1e8))
def test_after_any_rest_the_first_goes_at_once_and_the_next_in_its_turn(rest: float) -> None:
    pace = replace(Pace(interval=T), gate=START, line=START + 3 * T)
    went = simulate([(rest, Priority.NORMAL)] * 3, [0.0], pace)
    assert went[0][1] == went[0][0]
    assert went[2][1] - went[0][1] >= 2 * T - 1e-6


@pytest.mark.parametrize(
    ("rate", "interval"), [(2.0, 0.5), (5.0, 0.2), (9.5, T), (10.0, rate_limit.SHORTEST)]
)
def test_the_interval_is_that_of_the_rate_and_never_too_short(rate: float, interval: float) -> None:
    assert rate_limit.interval_of(rate) == pytest.approx(interval)
    shown = rate_limit.view(Pace(interval=interval), START)
    assert shown.rate == pytest.approx(1 / interval)
    assert shown.waiting == 0


def test_those_who_wait_are_counted_and_a_person_among_them() -> None:
    pace = Pace(interval=T)
    for number, priority in enumerate([*[Priority.BULK] * 4, Priority.INTERACTIVE]):
        assert rate_limit.view(pace, START).waiting == number
        pace, _ = rate_limit.join(pace, START, priority=priority)
    assert rate_limit.view(pace, START + 2 * T).waiting == 3
    assert rate_limit.view(pace, START + 10).waiting == 0


def test_a_person_moves_everybody_in_the_line_by_one_place() -> None:
    pace, first = rate_limit.join(Pace(interval=T), START, priority=Priority.BULK)
    pace, second = rate_limit.join(pace, START, priority=Priority.BULK)
    before = rate_limit.wait_of(pace, START, second)
    pace, _ = rate_limit.join(pace, START, priority=Priority.INTERACTIVE)
    assert rate_limit.wait_of(pace, START, first) == pytest.approx(T, abs=1e-6)
    assert rate_limit.wait_of(pace, START, second) == pytest.approx(before + T, abs=1e-6)


def test_a_late_request_moves_the_line_with_the_gate() -> None:
    pace, turn = rate_limit.join(Pace(interval=T), START, priority=Priority.BULK)
    pace, _ = rate_limit.pass_gate(pace, START, turn)
    pace, waiting = rate_limit.join(pace, START, priority=Priority.BULK)
    pace = rate_limit.late(pace, START + 1.0, 1.0)
    assert pace.sent == (START + 1.0,)
    assert rate_limit.wait_of(pace, START + 1.0, waiting) == pytest.approx(T, abs=2 * rate_limit.SLACK)
    _, newcomer = rate_limit.join(pace, START + 1.0, priority=Priority.BULK)
    assert newcomer.place > START + 1.0 + T


def test_after_a_span_for_requests_of_another_row_nobody_goes_and_then_no_burst() -> None:
    pace = rate_limit.close_for_a_span(Pace(interval=T), START)
    opens = START + pace.span
    assert pace.gate == pytest.approx(opens)
    went = simulate([(0.0, Priority.INTERACTIVE)] * 3, [0.0], pace)
    assert [at - START for _, at, _ in went] == pytest.approx([pace.span + n * T for n in range(3)], abs=0.02)
    later = simulate([(2 * pace.span, Priority.INTERACTIVE)] * 3, [0.0], pace)
    assert [at - asked for asked, at, _ in later] == pytest.approx([0.0] * 3, abs=1e-6)


def test_no_stop_is_longer_than_a_minute_and_none_shorter_than_a_turn() -> None:
    stopped = rate_limit.stop(Pace(interval=T), START, 1e9, base=T)
    assert rate_limit.view(stopped, START).resumes_at == START + 60
    assert rate_limit.settle(stopped, START) == stopped
    assert rate_limit.stop(Pace(interval=T), START, 0.0, base=T).gate == START + T


def test_a_line_or_a_stop_that_no_wait_explains_begins_anew_without_a_burst() -> None:
    well = Pace(interval=T, gate=START, line=START)
    for odd in (
        replace(well, line=START + rate_limit.LONGEST_LINE + 1),
        replace(well, resumes_at=START + rate_limit.LONGEST_STOP + 1),
    ):
        settled = rate_limit.settle(odd, START)
        assert (settled.gate, settled.line) == (START + T, START + T)
        assert settled.resumes_at <= START
        went = simulate([(0.0, Priority.INTERACTIVE)] * 3, [0.0], odd)
        assert [at - START for _, at, _ in went] == pytest.approx([T, 2 * T, 3 * T], abs=0.02)
    assert rate_limit.settle(well, START) == well


def test_a_faster_pace_than_the_settings_allow_is_taken_back_at_the_next_answer() -> None:
    assert rate_limit.recover(Pace(interval=T / 2), 1, base=T).interval == T
    assert rate_limit.recover(Pace(interval=T, clean=7), 1, base=T).clean == 0
    slowed = rate_limit.recover(Pace(interval=0.2, clean=49), 1, base=T)
    assert slowed.interval == pytest.approx(0.2 * 0.98)
    assert slowed.clean == 0
