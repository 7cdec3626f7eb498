"""Which replies are news for a notification."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from shared.domain.snapshot import Snapshot
from shared.records import InterestedReply
from tests.kit.snapshots import NOW, account
from tui.model.replies import ReplyNews

MINUTE = timedelta(minutes=1)
LEADS = account().interested.value or ()


def a_reply(number: int, *, minutes: float, claimed_by: str = "") -> InterestedReply:
    email = LEADS[number].email
    assert email
    at = NOW + minutes * MINUTE
    return InterestedReply(email=email, received_at=at, sequence="Q3 CTOs", claimed_by=claimed_by)


def recorded(*replies: InterestedReply) -> Snapshot:
    return account(replies=replies)


def test_a_reply_that_the_bot_records_is_told_once_unless_it_is_old_or_claimed() -> None:
    news = ReplyNews(since=NOW)
    old = a_reply(0, minutes=-5)
    assert list(news.of(recorded(old))) == []
    claimed, new = a_reply(1, minutes=1, claimed_by="Ann"), a_reply(2, minutes=2)
    told = ["Unclaimed reply: Lucía Sharma of Indigo, Q3 CTOs"]
    assert list(news.of(recorded(old, claimed, new))) == told
    assert list(news.of(recorded(old, claimed, new))) == []
    assert list(news.of(recorded())) == [], "the records can't be read"
    assert list(news.of(recorded(old, claimed, new))) == []
    again = replace(new, received_at=NOW + 9 * MINUTE)
    assert list(news.of(recorded(new, again))) == told
