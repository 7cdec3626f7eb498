"""What guardrails keep in memory: every reading where a window begins, of other days the last, and nothing on the loop."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from bot.guardrails import RELOAD_SECONDS
from shared.guardrails.activity import Activity
from shared.guardrails.rule import Metric, Scope
from shared.store import Store, open_store
from shared.store.db.schema import samples
from shared.store.guardrails import SLOT_SECONDS
from tests.bot.manual_clock import HOUR, ManualClock

DAY = 24 * HOUR
SPANS = (6 * HOUR, DAY, 7 * DAY, 30 * DAY)


def store_counts(store: Store, inboxes: int, *, now: float) -> None:
    """Of 32 days, as often as they are stored: each quarter of an hour, and each hour when they are three days old."""
    rows = []
    for age in range(33):
        day = int(now // DAY) - age
        for slot in range(0, 96, 1 if age <= 3 else 4):
            at = day * DAY + slot * SLOT_SECONDS + 7.25
            if at < now:
                rows += [
                    {
                        "workspace": "default", "day": day, "slot": slot, "scope": "inbox",
                        "key": f"sam{n}@mail.example", "at": at, "sends": slot + n % 5, "replies": slot // 9,
                        "positive": slot // 30, "health": None,
                    }
                    for n in range(inboxes)
                ]  # fmt: skip
    with store.database.engine.begin() as connection:
        connection.execute(sa.delete(samples))
        connection.execute(sa.insert(samples), rows)


async def test_a_reload_counts_in_every_window_as_if_all_readings_were_there(
    url: sa.URL, clock: ManualClock
) -> None:
    async with open_store(url, clock=clock) as store:
        store_counts(store, 2, now=clock.now)
        whole, reloaded, read = Activity(), Activity(), 0
        whole.add((), await store.guardrails.samples("default", 0.0))
        async for _, found in store.guardrails.past("default", clock.now, SPANS):
            reloaded.add((), found)
            read += len(found)
            assert len(found) <= 2 * 24 + 10, "a quarter of a day of each inbox"
    # Only the days where a window begins need each reading; all of 10,000 inboxes would fill the memory.
    assert read < len(readings(whole)) / 2
    for later in (0.0, 1234.0, RELOAD_SECONDS):
        for span in SPANS:
            end = clock.now + later
            for metric in ("sends", Metric.REPLIES):
                for generous in (True, False):
                    counts = [
                        one.counted(metric, Scope.INBOX, start=end - span, end=end, generous=generous)
                        for one in (whole, reloaded)
                    ]
                    assert counts[0] == counts[1], (later, span, metric, generous)
                    assert counts[0]


def readings(activity: Activity) -> Sequence[float]:
    return [at for daily in activity._counts[Scope.INBOX].values() for at in daily.at]
