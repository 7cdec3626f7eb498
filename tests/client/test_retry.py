"""When a 429 may be tried again, whatever its header says."""

from __future__ import annotations

import pytest

from shared.api.messages import Reply


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("3", 3.0),
        ("0", 0.0),
        ("1.5", 1.5),
        (" 7 ", 7.0),
        ("", 1.0),
        ("-3", 1.0),
        ("soon", 1.0),
        ("nan", 1.0),
        ("inf", 1.0),
        ("1e9", 1.0),
        ("9" * 400, 1.0),
        ("٣", 1.0),
    ],
)
def test_retry_after_is_a_number_of_seconds_and_survives_nonsense(header: str, seconds: float) -> None:
    assert Reply(status=429, headers={"retry-after": header}).retry_after() == seconds
