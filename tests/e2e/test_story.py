"""The demo's story, told by the real bot and dashboard's parts in this process.

It stands alone: pytest keeps a browser of the synchronous Playwright open until a module's last test, and no asynchronous
test can run beside that in one process.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from cli.demo import ACCOUNT, SCENARIO, Story, set_up, verify
from tests.kit.waiting import until

pytestmark = pytest.mark.timeout(600)


SEQUENCE = "Fintech ops leaders"


async def test_the_story_is_told_to_its_end_by_people_and_bouncing_mail() -> None:
    told: list[str] = []
    messages: list[dict[str, Any]] = []
    async with set_up(speed=60.0, scenario=SCENARIO) as installation:
        await installation.cause("reply.interested")
        await Story(installation, told.append, pace=0.02).play()
        key = {"Authorization": f"Bearer {installation.announcement['api_keys'][ACCOUNT]}"}

        async def statuses() -> dict[str, str]:
            """Return the statuses by the sequences' names; none while the bot uses up the rate of the key."""
            url = f"{installation.announcement['base_url']}/sequences"
            async with installation.http.get(url, headers=key, raise_for_status=False) as answer:
                return {one["name"]: one["status"] for one in (await answer.json()).get("data", ())}

        sequences = await until(statuses)
        channel = installation.announcement["slack_alert_channel"]

        async def edited() -> list[dict[str, Any]]:
            """Return the edited messages about the sequence: the guardrail's card."""
            nonlocal messages
            messages = (await installation.slack(f"messages?channel={channel}"))["messages"]
            return [one for one in messages if any(SEQUENCE in str(then) for then in one["revisions"])]

        assert await until(edited), "the guardrail's card was edited by Undo"
        result = await verify(installation)
    assert len(told) == 9, told[-1]
    assert sequences[SEQUENCE] == "active", "Undo resumed what the guardrail had paused"
    claimed = [one for one in messages if any("Claim" in str(then) for then in one["revisions"])]
    assert any("@cleo" in str(one["blocks"]) or "U0CLEO0003" in str(one["blocks"]) for one in claimed)
    assert not result.lost + result.doubled, result.lines
    assert any(re.search(r"p50 \d+ ms, p99 \d+ ms of [1-9]", line) for line in result.lines), result.lines
