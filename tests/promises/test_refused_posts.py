"""A post that Slack refuses is tried a few times, reported everywhere in Slack's own word, and posted after the cure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.kit import Team, interested

ALERTS, SALES = "C0ALERTS01", "C0SALES002"
FOR_GOOD = "slack_connect_file_link_sharing_blocked"


async def refuse(team: Team, error: str, *, channel: str = "") -> None:
    """Have Slack refuse every post, or those of one channel."""
    # Faults match the arguments of a call, so that other channels take posts.
    only = {"arguments": {"channel": channel}} if channel else {}
    await team.act("faults", method="chat.postMessage", kind="error", error=error, times=None, **only)


async def tries(team: Team) -> int:
    posts = [one for one in await team.traffic("chat.postMessage") if one["direction"] == "web_api"]
    return len([one for one in posts if one["request"]["channel"] == ALERTS])


async def refused(team: Team, error: str) -> bool:
    """Return True once the figures name the error."""
    _, text = await team.get("/metrics")
    return f'outreach_refused_alerts{{error="{error}"' in text


async def test_a_post_that_slack_refuses_for_good_is_tried_a_few_times_and_then_reported(team: Team) -> None:
    await team.restart(f'[routes]\nfallback = "{SALES}"\n')
    await refuse(team, FOR_GOOD, channel=ALERTS)
    await team.deliver(interested("Ada"))
    await team.until(lambda: refused(team, FOR_GOOD))
    # Half an hour in small steps: one long step would be one try, however many the bot would have made.
    for _ in range(30):
        await team.pass_time(minutes=1)
        await team.ask("whoami", channel=SALES)
    assert 2 <= await tries(team) <= 10
    told = await team.message(FOR_GOOD, channel=SALES)
    assert "can't be posted" in told.title
    assert "Ada" not in told.shown
    status, state = await team.get("/readyz")
    assert status == 200, "deliveries are taken all the same"
    assert json.loads(state)["refused_posts"] == {FOR_GOOD: 1}
    assert FOR_GOOD in (await team.ask("status", channel=SALES)).shown


async def test_the_text_of_what_slack_refuses_is_deleted_with_the_others(team: Team) -> None:
    await refuse(team, FOR_GOOD, channel=ALERTS)
    await team.deliver(interested("Ada", reply="Call me at home."))
    await team.until(lambda: refused(team, FOR_GOOD))
    assert "Call me at home" in (await team.ask("replies", channel=SALES)).shown
    for _ in range(20):
        await team.pass_time(minutes=1)
        await team.ask("whoami", channel=SALES)
    # Texts are kept for thirty days.
    await team.pass_time(hours=24 * 31)

    async def gone() -> bool:
        return not await refused(team, FOR_GOOD)

    await team.until(gone)

    async def pruned() -> bool:
        return "Call me at home" not in (await team.ask("replies", channel=SALES)).shown

    assert await team.until(pruned)


async def test_a_reply_that_slack_refuses_takes_no_others_with_it(team: Team) -> None:
    await refuse(team, FOR_GOOD, channel=ALERTS)
    # More than five waiting alerts share a message, which Slack refuses as a whole.
    names = [f"Lead{number}" for number in range(9)]
    for name in names:
        await team.deliver(interested(name))
    await team.until(lambda: refused(team, FOR_GOOD))
    await team.act("faults", clear=True)
    for _ in range(3):
        await team.pass_time(minutes=1)
    for name in names:
        assert name in (await team.card(name)).shown


@pytest.mark.parametrize("error", ["ekm_access_denied", "accesslimited", "message_limit_exceeded"])
async def test_what_slack_says_to_every_post_is_said_at_once_and_all_is_posted_after_the_cure(
    team: Team, error: str
) -> None:
    await refuse(team, error)
    names = [f"Lead{number}" for number in range(4)]
    for name in names:
        await team.deliver(interested(name))
    await team.until(lambda: refused(team, error))
    _, state = await team.get("/readyz")
    assert json.loads(state)["slack"] == error
    assert json.loads(state)["channels"] == {ALERTS: error}
    assert error in (await team.ask("status", channel=SALES)).shown
    # It is said to every post, so that none of them may be given up meanwhile.
    await team.pass_time(hours=2)
    await team.act("faults", clear=True)
    await team.pass_time(minutes=11)
    for name in names:
        await team.card(name)
    assert not await refused(team, error)


def test_an_alert_rule_fires_on_what_slack_refuses() -> None:
    file = Path(__file__).parents[2] / "deploy/monitoring/rules.yml"
    groups = yaml.safe_load(file.read_text(encoding="utf-8"))["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert [rule["for"] for rule in rules if "outreach_refused_alerts" in rule["expr"]] == ["1m"]
