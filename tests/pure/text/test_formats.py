"""Counts, lengths of time, days and bars as text; unknown is a dash."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from shared.text import formats


def test_changes_are_shown_with_an_arrow() -> None:
    assert [formats.show_change(x) for x in (0.12, -0.03, 0.001)] == ["▲ 12%", "▼ 3%", "="]


def test_spans_in_words() -> None:
    spans = [
        timedelta(seconds=40),
        timedelta(minutes=12),
        timedelta(minutes=125),
        timedelta(days=2),
        timedelta(-1),
    ]
    assert [formats.show_span(span) for span in spans] == ["40 s", "12 min", "2 h 5 min", "2 days", "0 s"]


def test_numbers_agree_with_their_nouns() -> None:
    texts = [formats.show_number(n, noun) for n, noun in ((1, "inbox"), (2, "inbox"), (0, "paused sequence"))]
    assert texts == ["1 inbox", "2 inboxes", "0 paused sequences"]
    assert formats.show_number(1200, "interested reply") == "1,200 interested replies"


@pytest.mark.parametrize(
    ("first", "last", "text"),
    [
        (date(2026, 11, 20), date(2026, 11, 20), "Friday 20 November"),
        (date(2026, 11, 14), date(2026, 11, 20), "14 to 20 November"),
        (date(2026, 2, 24), date(2026, 3, 2), "24 February to 2 March"),
        (date(2025, 12, 30), date(2026, 1, 5), "30 December 2025 to 5 January 2026"),
    ],
)
def test_date_ranges_are_written_like_people_do(first: date, last: date, text: str) -> None:
    assert formats.show_days(first, last) == text
