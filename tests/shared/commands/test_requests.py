"""Requests in plain words, and the commands that they mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.commands import parse
from shared.commands.requests import LONGEST, understand

WORKSPACES = ("acme", "globex")
CLEAR = {
    "who replied today": "replies today",
    "any positive replies this week?": "replies this week",
    "who replied": "leads replied",
    "bounces today": "leads bounced",
    "how is acme doing": "status @acme",
    "list paused": "sequences paused",
    "stop everything": "pause all",
    "why is mail.acme.com paused": "domain mail.acme.com",
    "pause all sequences for globex": "pause all @globex",
    "show me my replies": "open",
    "mine": "open mine",
    "what have i claimed": "open mine",
    "which replies are assigned to me": "open mine",
    "roles": "whoami",
    "what changed since yesterday": "audit",
    "which sequence works best": "stats",
    "hot leads": "open",
    "unhealthy inboxes please": "inboxes unhealthy",
    "how fast does the team answer": "stats by person",
    "reply rate last week": "stats last week",
    "what needs attention this morning": "status",
    "resume everything at acme": "resume all @acme",
    "stop all campaigns until monday": "pause all until monday",
    "halt everything for 2h": "pause all for 2h",
    "delete bob@x.com": "remove bob@x.com",
    "any hot replies nobody has picked up yet?": "open",
    "how did we do yesterday": "stats yesterday",
    "numbers for last week pls": "stats last week",
    "reply rate per step, last 30 days": "stats by step 30d",
    "which mailboxes are in bad shape": "inboxes unhealthy",
    "sending health of mail.globex.com": "inboxes mail.globex.com",
    "could you give me the client report for globex, last month": "report last month @globex",
    "who on the team is quickest to pick up replies this month": "stats by person this month",
    "find dana.kim@northwind.io": "lead dana.kim@northwind.io",
    "what did priya@lumenlabs.co write back?": "lead priya@lumenlabs.co",
    "people who bounced in Q3 founders": 'leads "Q3 founders" bounced',
    "who opted out": "leads unsubscribed",
    "what's still running at acme": "sequences active @acme",
    "campaigns on hold at globex": "sequences paused @globex",
    "am I allowed to change things here?": "whoami",
    "who resumed that campaign??": "audit",
    "is the bot connected ok": "doctor",
    "which alerts get posted in #sales": "subscriptions #sales",
    "what automatic pause rules do we have": "guard",
    "A/B results past 14 days": "stats by variant 14d",
    "send volume per mailbox today": "stats by inbox today",
    "quick overview please": "status",
    "globex at a glance": "status @globex",
    "meetings booked this month, acme": "stats this month @acme",
    "leads that reached the end of Q3 founders without answering": 'leads "Q3 founders" completed',
    "interested prospects in Fintech CTOs": 'leads "Fintech CTOs" interested',
    "how do I use digest": "help digest",
    "what can i type here": "help",
    "compare campaigns from 1 june to 30 june 2026": "stats 2026-06-01..2026-06-30",
    "acme mailboxes and their daily limits": "inboxes @acme",
    "please put Q3 founders on hold": 'pause "Q3 founders"',
    "hold Fintech CTOs for 2 days, copy needs a fix": 'pause "Fintech CTOs" for 2d reason copy needs a fix',
    "stop sending from mail.acme.com": "pause domain:mail.acme.com",
    "pls turn sq_8f2 back on": "resume sq_8f2",
    "unpause everything at acme": "resume all @acme",
    "take tom@brightpath.com off all our lists, he asked": "remove tom@brightpath.com",
    "never email j.ortiz@helio.dev again": "remove j.ortiz@helio.dev",
    "freeze Agency owners until monday 9am": 'pause "Agency owners" until monday 09:00',
    "get mail.globex.com sending again, it's warmed up": "resume domain:mail.globex.com",
    "delete lead ld_4417": "remove ld_4417",
}
"""Those that the table was built with, and those that people typed since."""


@pytest.mark.parametrize(("says", "meant"), CLEAR.items())
def test_a_request_is_understood(says: str, meant: str) -> None:
    request = understand(says, workspaces=WORKSPACES)
    assert request is not None
    nearest, right = request.nearest[0], parse(meant)
    assert (nearest.arguments, nearest.workspace) == (right.arguments, right.workspace)
    assert request.is_clear


@pytest.mark.parametrize("says", ["make me a sandwich", "asdf", "", "   ", "pause " * LONGEST])
def test_what_means_nothing_is_no_request(says: str) -> None:
    assert understand(says, workspaces=WORKSPACES) is None


@pytest.mark.parametrize("says", ["quiet hours", "who paused Q3 founders"])
def test_a_request_with_words_left_over_is_not_clear(says: str) -> None:
    request = understand(says, workspaces=WORKSPACES)
    assert request is not None
    assert not request.is_clear


def test_a_pause_whose_end_is_not_understood_is_not_offered() -> None:
    for says in (
        "stop everything for 2 fortnights",
        "stop everything until the cows come home",
        "halt all for a while",
    ):
        request = understand(says, workspaces=WORKSPACES)
        assert request is None or all(one.arguments.verb != "pause" for one in request.nearest)


def test_words_that_stand_apart_are_no_name() -> None:
    request = understand("please stop Alpha, bounces are climbing")
    assert request is not None
    assert all(one.arguments.verb != "pause" for one in request.nearest)


def test_counts_in_words_are_read() -> None:
    request = understand("please halt everything for two hours")
    assert request is not None
    assert request.nearest[0].arguments == parse("pause all for 2h").arguments


def test_a_period_that_the_command_does_not_take_is_named() -> None:
    request = understand("bounces today")
    assert request is not None
    assert request.dropped == "today"


@given(st.text(max_size=60))
def test_any_text_is_read(text: str) -> None:
    request = understand(text, workspaces=WORKSPACES)
    assert request is None or 1 <= len(request.nearest) <= 2


def test_a_workspace_that_may_not_be_known_is_a_word_like_others() -> None:
    known, unknown = (understand(f"how is {name} doing") for name in ("acme", "nowhere"))
    assert known == unknown
