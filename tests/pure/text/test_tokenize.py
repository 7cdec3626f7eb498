"""Lines into words: quotes, durations, Slack's escapes, and no text that breaks it."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.text.formats import short_duration
from shared.text.tokenize import (
    Word,
    from_slack,
    join,
    parse_channel,
    parse_duration,
    quote,
    split,
)


def texts(line: str) -> list[str]:
    return [word.text for word in split(line)]


@pytest.mark.parametrize(
    "line", ['pause "Q3 CTO"', "pause “Q3 CTO”", "pause „Q3 CTO“", "pause 'Q3 CTO'", "pause ‘Q3 CTO’"]
)
def test_quotes_of_every_kind_hold_words_together(line: str) -> None:
    assert split(line) == (Word("pause"), Word("Q3 CTO", quoted=True))


def test_a_quote_that_nothing_closes_is_an_ordinary_character() -> None:
    assert texts('pause "Q3 CTO') == ["pause", '"Q3', "CTO"]
    assert texts("don’t stop") == ["don’t", "stop"]
    assert texts("'O'Brien' x") == ["O'Brien", "x"]


quotish = st.text(min_size=1, max_size=12) | st.text("\"'“”„«»‘’‚\\\\ a=", min_size=1, max_size=12)


@given(st.text(max_size=60) | quotish)
def test_a_quoted_text_is_read_back(text: str) -> None:
    if text:
        assert texts(quote(text)) == [text]


@given(st.lists(quotish, max_size=6))
def test_joined_words_are_read_back(words: list[str]) -> None:
    ordinary = [word for word in words if not word.startswith("--")]
    assert texts(join(*ordinary)) == ordinary


@pytest.mark.parametrize(
    "text", ["' " * 5000, '"a ' * 3300, "\\" * 10_000, '="' * 5000, "a'b" * 3300, "' \"" * 3000]
)
def test_a_hostile_line_is_split_in_linear_time(text: str) -> None:
    # The time of this process alone: a busy machine makes no line slow.
    began = time.process_time()
    split(text)
    assert time.process_time() - began < 1


@given(st.text(max_size=300))
def test_no_text_breaks_splitting(text: str) -> None:
    assert all(word.text or word.quoted for word in split(text))


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("2h", timedelta(hours=2)),
        ("30m", timedelta(minutes=30)),
        ("1d", timedelta(days=1)),
        ("1h30m", timedelta(hours=1, minutes=30)),
        ("2W", timedelta(days=14)),
        ("0h", None),
        ("2", None),
        ("h", None),
        ("-2h", None),
        ("2y", None),
        ("9999d", None),
        ("٢h", None),
        ("", None),
    ],
)
def test_durations(text: str, span: timedelta | None) -> None:
    assert parse_duration(text) == span


@given(st.integers(min_value=1, max_value=366 * 86_400))
def test_a_shown_duration_is_read_back(seconds: int) -> None:
    span = timedelta(seconds=seconds)
    assert parse_duration(short_duration(span)) == span


@pytest.mark.parametrize(
    ("escaped", "plain"),
    [
        ("a &amp; b &lt;c&gt;", "a & b <c>"),
        ("add <mailto:ann@acme.com|ann@acme.com> to sq_1", "add ann@acme.com to sq_1"),
        ("inboxes <http://acme.com|acme.com>", "inboxes acme.com"),
        ("see <https://acme.com/x>", "see https://acme.com/x"),
        ("digest now <#C012|sales>", "digest now <#C012>"),
        ("hi <@U1|ann>", "hi <@U1>"),
        # Undone once: twice would make markup of what a person typed as text.
        ("&amp;lt;", "&lt;"),
    ],
)
def test_slack_escapes_are_undone(escaped: str, plain: str) -> None:
    assert from_slack(escaped) == plain


def test_channels_are_known_by_mention_name_or_id() -> None:
    assert [parse_channel(text) for text in ("<#C012|sales>", "<#C1>", "#sales", "C0123456789")] == [
        "C012",
        "C1",
        "#sales",
        "C0123456789",
    ]
    assert parse_channel("sales") is None
