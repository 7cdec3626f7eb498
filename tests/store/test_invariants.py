"""What holds with several processes and odd clocks, through the store's own functions."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa

from shared.store import Store, open_store
from shared.store.guardrails import Claim
from shared.store.jobs import DIGEST, EVALUATE
from tests.bot.manual_clock import HOUR, ManualClock

SUBJECTS = ("q3 founders", "q3 ctos")


def claim(subject: str) -> Claim:
    return Claim(
        workspace="default",
        rule="bounces",
        sentence="pause sequence when bounces > 3%",
        action="pause",
        subject=subject,
        label=subject,
        note="5%",
        sequences=(subject,),
        per_day=1,
        at_once=1,
    )


async def test_a_rules_limits_hold_with_two_evaluators(url: sa.URL, clock: ManualClock) -> None:
    async with open_store(url, clock=clock) as one, open_store(url, clock=clock) as other:
        await one.jobs.keep_going(EVALUATE, ["default"])
        # Two evaluators may decide at one moment: only the transaction that begins an incident can count.
        begun = await asyncio.gather(
            *(
                store.incidents.begin(claim(subject))
                for store, subject in zip((one, other), SUBJECTS, strict=True)
            )
        )
        assert sorted(begun) == ["", "per day"]
        assert len(await one.incidents.open("default")) == 1


@pytest.mark.parametrize(
    "day",
    [
        pytest.param(datetime(2026, 3, 29, tzinfo=UTC), id="02:30 is skipped"),
        pytest.param(datetime(2026, 10, 25, tzinfo=UTC), id="02:30 comes twice"),
    ],
)
async def test_a_digest_comes_once_on_the_days_when_the_clocks_change(
    store: Store, clock: ManualClock, day: datetime
) -> None:
    clock.now = day.timestamp() - 2 * HOUR
    await store.records.set_digest("default", "C1", "02:30 Europe/Berlin")
    given = 0
    for _ in range(12):  # until noon in Berlin, on that day alone
        clock.now += HOUR
        for job in await store.jobs.claim(DIGEST, lease=10.0, limit=9, workspaces=["default"]):
            due = await store.digests.due(job)
            given += bool(due and await store.digests.give(job, due, "{}"))
    assert given == 1
