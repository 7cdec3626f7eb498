"""Guardrails beside timed pauses and people: they shorten no pause, and insist on none."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa

from bot.alerts import rendering
from shared.domain.card import Card
from shared.guardrails import rule as rules
from shared.store.guardrails import Claim
from tests.bot.manual_clock import HOUR, ManualClock, post_all
from tests.faults.races.account import Process, Remote, Request, open_process, pass_on

ONE = "sq_0001"
RULE = "pause workspace {duration}when bounces > 5% of at least 50 sends in 24h"


@pytest.fixture
async def remote() -> Remote:
    return Remote()


@pytest.fixture
async def process(url: sa.URL, remote: Remote, clock: ManualClock, tmp_path: Path) -> AsyncIterator[Process]:
    async with open_process(url, remote, clock, tmp_path, name="ours") as opened:
        yield opened


async def fire(process: Process, duration: str = "for 4h ") -> None:
    rule = rules.parse(RULE.format(duration=duration))
    claim = Claim(
        workspace="default", rule="rule", sentence=str(rule), action=rule.action, subject="",
        label="workspace", note="bounces are high",
    )  # fmt: skip
    await process.acts.act(claim, rule)
    await process.fire()


async def posted(process: Process, clock: ManualClock) -> Card:
    (post,) = await post_all(process.store, clock)
    return rendering.read_note(post.note)


async def hours_left(process: Process) -> dict[str, int]:
    timers = await process.store.records.timers("default", "resume")
    now = datetime.fromtimestamp(process.clock.now, UTC)
    return {timer.key: round((timer.due_at - now).total_seconds() / HOUR) for timer in timers}


@pytest.mark.parametrize("duration", ["for 4h ", ""])
async def test_a_guardrail_leaves_the_pauses_of_people_alone(
    process: Process, remote: Remote, duration: str
) -> None:
    remote.statuses = {"sq_0001": "active", "sq_0002": "paused", "sq_0003": "paused", "sq_0004": "paused"}
    await process.plan(["sq_0002"], seconds=HOUR)
    await process.plan(["sq_0003"], seconds=9 * HOUR)
    await fire(process, duration)
    assert remote.applied == [("sq_0001", "paused")]
    others = {"sq_0002": 1, "sq_0003": 9}
    assert await hours_left(process) == ({"sq_0001": 4, **others} if duration else others)
    await process.undo((await process.store.records.audit("default"))[0].number)
    assert remote.statuses["sq_0001"] == "active"
    assert await hours_left(process) == others


async def test_a_guardrail_does_not_insist_after_a_person_resumed(
    process: Process, remote: Remote, clock: ManualClock
) -> None:
    async def cut(request: Request) -> None:
        if request.method == "PATCH":
            raise httpx.ReadTimeout("no answer")

    remote.statuses, remote.before = {ONE: "active"}, cut
    await fire(process)
    remote.before = pass_on
    clock.now += 1
    assert "sending again" in (await process.say(f"resume {ONE}")).title
    clock.now += 60
    await process.fire()
    assert remote.statuses == {ONE: "active"}
    card = await posted(process, clock)
    assert "Someone resumed it after the rule fired." in card.text


async def test_a_person_who_pauses_while_a_guardrail_decides_keeps_the_pause(
    process: Process, remote: Remote
) -> None:
    remote.statuses = {ONE: "active"}
    lists: list[Request] = []

    async def meanwhile(request: Request) -> None:
        lists.append(request)
        if len(lists) == 2:  # the guardrail has listed it as active twice
            remote.after = pass_on
            await process.say(f"pause {ONE}")

    remote.after = meanwhile
    await fire(process)
    assert remote.applied == [(ONE, "paused")]
    assert await hours_left(process) == {}
