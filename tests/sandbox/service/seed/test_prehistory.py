"""The simulated past: a lead's last activity is its newest, in whatever order it was played."""

from __future__ import annotations

from datetime import UTC, datetime

from sandbox.service.campaign.rules import Window
from sandbox.service.seed.prehistory import Prehistory, Sender

MONDAY_NIGHT = datetime(2026, 11, 23, 1, 13, tzinfo=UTC).timestamp()


def test_a_leads_last_activity_is_its_newest() -> None:
    past = Prehistory(seed=7, now=MONDAY_NIGHT)
    for inbox in range(1, 4):
        past.simulate(
            Sender(
                workspace=1,
                inbox=inbox,
                sequence=1,
                window=Window(opens=0, closes=24, weekdays=0b1111111),
                steps=4,
                appeal=3.0,
                health=95.0,
                daily_limit=200,
                sends_until=MONDAY_NIGHT,
            )
        )
    newest: dict[int, float] = {}
    for one in past.settled:
        newest[one.history.serial] = max(newest.get(one.history.serial, 0.0), one.at)
    assert len(newest) > 1_000
    too_early = [
        history.serial
        for history in past.histories
        if history.last_active_at < newest.get(history.serial, 0.0)
    ]
    assert too_early == []
