"""The ends of a snooze that are offered."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.blockkit.actions import OnAlert
from bot.commands import replies

BERLIN, KOLKATA, CHATHAM = ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Kolkata"), ZoneInfo("Pacific/Chatham")
MENU = "Snooze until …"


@settings(max_examples=50)
@given(
    now=st.integers(1_735_689_600, 1_893_456_000).map(lambda at: datetime.fromtimestamp(at, UTC)),
    zone=st.sampled_from([BERLIN, KOLKATA, CHATHAM, ZoneInfo("America/New_York"), ZoneInfo("UTC")]),
)
def test_every_preset_that_is_offered_is_ahead_and_no_two_mean_the_same(
    now: datetime, zone: ZoneInfo
) -> None:
    offered = [
        b.line.split()
        for b in replies.snooze_choices(OnAlert(verb="snooze", alert="al_1"), now=now, zone=zone).buttons
        if not b.picks_time
    ]
    moments = [replies.snoozed_until(word, now=now, zone=zone) for _, _, word in offered]
    assert moments
    assert all(at and now < at <= now + timedelta(days=8) for at in moments)
    assert len(set(moments)) == len(moments)
