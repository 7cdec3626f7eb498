"""When a 429 may be tried again, whatever its header says."""

from __future__ import annotations

import pytest

from shared.api.messages import Reply


@pytest.mark.parametrize(
    ("header", "date", "seconds"),
    [
        ("3", "", 3.0),
        ("0", "", 0.0),
        ("1.5", "", 1.5),
        (" 7 ", "", 7.0),
        # Against the service's own clock, as its Date tells it: this machine's may be wrong.
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
