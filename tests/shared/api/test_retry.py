"""Which error is repeated, when, and within which time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api.errors import (
    InvalidRequest,
    NotFound,
    OutreachError,
    RateLimited,
    Refused,
    ServiceBroken,
    Unauthorized,
    Uncertain,
    Unreachable,
    Unreadable,
)
from shared.api.messages import Reply
from shared.api.pipeline import Limits, backoff, retry_delay

ERRORS: list[OutreachError] = [
    InvalidRequest(), NotFound(), Refused(), Unauthorized(), Unreadable(),
    ServiceBroken(), Uncertain(), Unreachable(), RateLimited(retry_after=1.0),
]  # fmt: skip


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("safe", [True, False])
def test_only_temporary_errors_are_retried_and_only_where_safe(error: OutreachError, *, safe: bool) -> None:
    delay = retry_delay(error, 1, is_safe_to_repeat=safe, elapsed=0, jitter=0.5)
    never_carried_out = isinstance(error, (RateLimited, Unreachable))
    perhaps = isinstance(error, (ServiceBroken, Uncertain))
    assert (delay is not None) == (never_carried_out or (perhaps and safe))


@given(st.integers(min_value=1, max_value=40), st.floats(min_value=0, max_value=1))
def test_the_backoff_doubles_up_to_eight_seconds_and_jitter_takes_any_part_of_it(
    attempt: int, jitter: float
) -> None:
    full = backoff(attempt, jitter=1.0)
    assert full == min(8.0, 0.5 * 2 ** (attempt - 1))
    assert backoff(attempt, jitter=jitter) == jitter * full
    assert backoff(attempt + 1, jitter=jitter) >= backoff(attempt, jitter=jitter)


@given(
    st.sampled_from([Unreachable(), ServiceBroken(), Uncertain(), RateLimited(retry_after=3.0)]),
    st.integers(min_value=1, max_value=5),
    st.floats(min_value=0, max_value=60),
    st.floats(min_value=0, max_value=1),
)
def test_no_wait_goes_beyond_the_whole_time(
    error: OutreachError, attempt: int, elapsed: float, jitter: float
) -> None:
    delay = retry_delay(error, attempt, is_safe_to_repeat=True, elapsed=elapsed, jitter=jitter)
    assert delay is None or elapsed + delay < 45.0


def test_attempts_come_to_an_end() -> None:
    delays = [
        retry_delay(
            Unreachable(), attempt, is_safe_to_repeat=True, elapsed=0, limits=Limits(total=1e9), jitter=0.0
        )
        for attempt in range(1, 12)
    ]
    assert delays == [0.0] * 5 + [None] * 6


@pytest.mark.parametrize(
    ("header", "date", "seconds"),
    [
        ("3", "", 3.0),
        ("0", "", 0.0),
        ("1.5", "", 1.5),
        (" 7 ", "", 7.0),
        ("Wed, 21 Oct 2026 07:28:30 GMT", "Wed, 21 Oct 2026 07:28:00 GMT", 30.0),
        ("Wed, 21 Oct 2026 07:27:00 GMT", "Wed, 21 Oct 2026 07:28:00 GMT", 0.0),
        ("Wed, 21 Oct 2026 07:28:30 GMT", "", 1.0),
        ("", "", 1.0),
        ("-3", "", 1.0),
        ("soon", "", 1.0),
        ("nan", "", 1.0),
        ("inf", "", 1.0),
        ("1e9", "", 1.0),
        ("9" * 400, "", 1.0),
        ("٣", "", 1.0),
    ],
)
def test_retry_after_is_read_in_every_form_and_survives_nonsense(
    header: str, date: str, seconds: float
) -> None:
    assert Reply(status=429, headers={"retry-after": header, "date": date}).retry_after() == seconds


@given(attempt=st.integers(1, 9), elapsed=st.floats(0, 60), jitter=st.floats(0, 1))
def test_a_person_gets_an_error_within_seconds(attempt: int, elapsed: float, jitter: float) -> None:
    delay = retry_delay(
        Unreachable(),
        attempt,
        is_safe_to_repeat=True,
        elapsed=elapsed,
        jitter=jitter,
        for_person=True,
    )
    assert delay is None or elapsed + delay < 2.5


def test_a_person_waits_for_a_service_that_has_trouble() -> None:
    asked = {"is_safe_to_repeat": True, "elapsed": 4.0, "jitter": 1.0, "for_person": True}
    assert retry_delay(ServiceBroken(), 3, **asked) == 2.0  # type: ignore[arg-type] # a mixed bag of arguments
