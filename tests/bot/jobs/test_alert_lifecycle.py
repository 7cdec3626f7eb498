"""What alerts say over time, by a clock that the test holds."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.commands import replies
from bot.delivery.routing import Routes
from bot.jobs.reminders import Reminders
from shared.settings.sections import AlertPolicy
from shared.storage.database import parse_url
from shared.store import Store, open_store
from shared.store.jobs import REMIND
from tests.bot.harness import interested
from tests.bot.manual_clock import (
    ANN,
    HOUR,
    MINUTE,
    ManualClock,
    arrive,
    post_all,
    sweep,
)


async def test_two_processes_and_a_restart_say_a_thing_once(
    store: Store, clock: ManualClock, alert: str, tmp_path: Path
) -> None:
    clock.now += 6 * MINUTE
    async with open_store(parse_url(f"sqlite:///{tmp_path}/bot.db"), clock=clock) as other:
        posted = [*await sweep(store, clock), *await sweep(other, clock)]
    assert [post.alert_id for post in posted] == [alert]


@pytest.mark.parametrize("text", ["yesterday", "0", "99999999999", "400d", "-5", ""])
def test_a_time_that_is_not_ahead_is_refused(text: str) -> None:
    assert replies.snoozed_until(text, now=datetime(2026, 11, 20, 9, tzinfo=UTC), zone=UTC) is None


async def test_a_reply_that_is_claimed_just_before_its_reminder_is_not_reminded_of(
    store: Store, clock: ManualClock
) -> None:
    await arrive(store, interested())
    (card,) = await post_all(store, clock)
    clock.now += HOUR
    claimed = await store.jobs.claim(REMIND, lease=10.0, limit=9, workspaces=[])
    # The reminder's job is taken already: the tap comes before its message is planned.
    await store.alerts.act(card.alert_id, "claim", ANN)
    await Reminders(store, AlertPolicy(), Routes(alert_channels={}), planned=lambda: None)(claimed, 0.0)
    assert await post_all(store, clock) == []
