"""The one verdict of a workspace: never better when something is worse, and never healthy when it isn't known."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api.models import Inbox
from shared.domain.card import Tone
from shared.domain.health import WORST_FIRST
from shared.domain.snapshot import Reading
from shared.domain.workspace_verdict import WorkspaceVerdict, judge, judge_reading

sending = st.sampled_from(["active", "warming"])
scores = st.floats(0, 100, allow_nan=False)
accounts = st.lists(
    st.builds(
        Inbox,
        email=st.builds("{}@{}.example".format, st.integers(0, 99), st.sampled_from("abc")),
        health_score=st.none() | scores,
        status=st.sampled_from([None, "active", "warming", "resting", "suspended"]),
    ),
    min_size=1,
    max_size=12,
    unique_by=lambda inbox: inbox.email,
)


@st.composite
def worsened(draw: st.DrawFn) -> tuple[list[Inbox], list[Inbox]]:
    """An account, and the same account after one inbox has changed for the worse."""
    before = draw(accounts)
    at = draw(st.integers(0, len(before) - 1))
    inbox = replace(before[at], status=draw(sending), health_score=draw(scores))
    before[at] = inbox
    assert inbox.health_score is not None
    score = draw(st.floats(0, inbox.health_score))
    worse = draw(
        st.sampled_from(
            [
                replace(inbox, health_score=score),
                replace(inbox, status="resting"),
                replace(inbox, status="resting", health_score=score),
                replace(inbox, status="resting", health_score=None),
                # To lose sight of a healthy inbox is worse; of a bad one it needn't be.
                *([replace(inbox, health_score=None)] if inbox.health_score >= 80 else []),
                *([replace(inbox, status=None)] if inbox.health_score >= 80 else []),
            ]
        )
    )
    return before, [*before[:at], worse, *before[at + 1 :]]


def severity(verdict: WorkspaceVerdict) -> tuple[int, ...]:
    """Comparable between verdicts of the same inboxes: the greater, the worse."""
    kinds = ("resting", "bad", "at_risk", "unknown")
    return (verdict.paused_domains, *accumulate(verdict.counts[kind] for kind in kinds))


@given(worsened())
def test_no_change_of_one_inbox_for_the_worse_improves_the_verdict(
    accounts: tuple[list[Inbox], list[Inbox]],
) -> None:
    before, after = map(judge, accounts)
    assert severity(after) >= severity(before)
    assert WORST_FIRST.index(after.tone) <= WORST_FIRST.index(before.tone)
    assert after.counts["healthy"] <= before.counts["healthy"]
    assert after.paused_domains >= before.paused_domains


@given(accounts)
def test_only_an_account_whose_inboxes_are_all_known_and_sending_is_healthy(account: list[Inbox]) -> None:
    verdict = judge(account)
    well = all(inbox.status in {"active", "warming"} and (inbox.health_score or 0) >= 80 for inbox in account)
    assert (verdict.tone is Tone.GOOD) is well
    assert ("healthy" in verdict.text) is well


def account(*statuses: tuple[str, float | None], each: int = 2) -> list[Inbox]:
    return [
        Inbox(email=f"{n}@d{domain}.example", status=status, health_score=score)
        for domain, (status, score) in enumerate(statuses)
        for n in range(each)
    ]


@pytest.mark.parametrize(
    ("inboxes", "tone", "text"),
    [
        (account(("active", 90), ("active", 90)), Tone.GOOD, "All 4 inboxes are healthy"),
        (account(("active", 90), ("active", 70)), Tone.WARN, "2 of 4 inboxes at risk"),
        (account(("active", 50), ("active", 70)), Tone.BAD, "2 of 4 inboxes bad · 2 at risk"),
        (
            account(("resting", 90), ("active", 70)),
            Tone.BAD,
            "1 of 2 domains paused · 2 of 4 inboxes not sending · 2 at risk",
        ),
        (
            account(("resting", 90), ("resting", 90)),
            Tone.BAD,
            "2 of 2 domains paused · 4 of 4 inboxes not sending",
        ),
        (account(("active", None), ("active", 90)), Tone.UNKNOWN, "2 of 4 inboxes of unknown health"),
        (account(("active", 90), each=1), Tone.GOOD, "The only inbox is healthy"),
        ([], Tone.INFO, "No inboxes are connected to this outreach workspace"),
    ],
)
def test_the_verdict_says_what_cannot_send_first(inboxes: list[Inbox], tone: Tone, text: str) -> None:
    verdict = judge(inboxes)
    assert (verdict.tone, verdict.text) == (tone, text)


def test_four_domains_in_trouble_are_named_the_worst_first_and_unknown_ones_last() -> None:
    troubled = [("active", 70), ("active", None), ("active", 60), ("active", 65)]
    assert judge(account(*troubled)).detail == "d2.example, d3.example, d0.example, d1.example"
    two_more = account(*troubled, ("resting", None), ("active", 1), ("active", 99))
    assert judge(two_more).detail == "d4.example, d5.example, d2.example, d3.example and 2 more"


def test_nothing_is_claimed_before_an_answer() -> None:
    assert judge_reading(Reading()).tone is Tone.UNKNOWN
    failed = judge_reading(Reading(error="no", cause="The service rejects the API key (401)"))
    assert (failed.tone, failed.text) == (Tone.UNKNOWN, "Inbox health is unknown")
    assert "401" in failed.detail
