"""Verdicts on inboxes and domains; the unknown is never healthy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api.models import Inbox
from shared.domain.card import Tone
from shared.domain.health import KINDS, roll_up, verdict, worst

statuses = st.sampled_from([None, "active", "warming", "resting", "suspended"])
scores = st.none() | st.floats(0, 100)
inboxes = st.builds(
    Inbox, email=st.sampled_from(["a@x.com", "b@x.com", "c@Y.com"]), health_score=scores, status=statuses
)


@pytest.mark.parametrize(
    ("score", "status", "tone", "word"),
    [
        (95, "active", Tone.GOOD, "healthy"),
        (80, "active", Tone.GOOD, "healthy"),
        (79.9, "active", Tone.WARN, "at risk"),
        (60, "active", Tone.WARN, "at risk"),
        (59, "active", Tone.BAD, "bad"),
        (0, "active", Tone.BAD, "bad"),
        (90, "warming", Tone.GOOD, "warming"),
        (70, "warming", Tone.WARN, "at risk"),
        (90, "resting", Tone.BAD, "resting"),
        (70, "resting", Tone.BAD, "resting"),
        (None, "resting", Tone.BAD, "resting"),
        (None, "active", Tone.UNKNOWN, "unknown"),
        (95, None, Tone.UNKNOWN, "healthy"),
        (40, None, Tone.BAD, "bad"),
        # A status that the document doesn't have says nothing, so that a good score proves nothing.
        (95, "suspended", Tone.UNKNOWN, "suspended"),
    ],
)
def test_verdicts(score: float | None, status: str | None, tone: Tone, word: str) -> None:
    found = verdict(Inbox(email="a@b.c", health_score=score, status=status))
    assert (found.tone, found.word) == (tone, word)
    assert found.reasons or found.word == "healthy"


@given(st.lists(inboxes, max_size=12))
def test_every_inbox_is_counted_once_and_the_worst_domain_comes_first(known: list[Inbox]) -> None:
    domains = roll_up(known)
    assert sum(d.inboxes for d in domains) == len(known)
    assert all(sum(getattr(d, kind) for kind in KINDS) == d.inboxes for d in domains)
    assert {d.domain for d in domains} <= {"x.com", "y.com"}
    if domains:
        assert worst(d.tone for d in domains) == domains[0].tone


def test_a_domain_that_rests_as_a_whole_sends_nothing_and_says_so() -> None:
    resting = [Inbox(email=f"{n}@x.com", health_score=95, status="resting") for n in range(3)]
    (domain,) = roll_up(resting)
    assert domain.paused
    assert domain.tone is Tone.BAD
    assert domain.reasons == ("paused, 3 inboxes not sending",)


def test_reasons_tell_counts_and_the_lowest() -> None:
    mixed = [
        Inbox(email="a@x.com", health_score=40, status="active"),
        Inbox(email="b@x.com", health_score=90, status="resting"),
        Inbox(email="c@x.com"),
    ]
    assert roll_up(mixed)[0].reasons == ("1 resting", "1 bad, lowest 40", "1 unknown")
