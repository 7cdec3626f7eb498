"""Channels come, go and change in Slack, events come twice, and the app is removed: the bot notices at once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.kit import Message, Team, interested
from tests.kit.team import ALERTS, PRIVATE, SALES

GENERAL, ARCHIVED, OUTSIDE, BOT = "C0GENERAL3", "C0ARCHIVE4", "C0PRIVATE6", "U0OUTREACH"


async def event(team: Team, *, name: str = "", **changes: Any) -> None:
    """Send the event of a mention by Ben, who asks who he is."""
    message = (await team.act("message", text="whoami", user="ben"))["message"]
    asked = {"type": "app_mention", "user": "U0BEN00002", "text": f"<@{BOT}> whoami", "ts": message["ts"]}
    sent = {"channel": ALERTS, **asked, **changes}
    given = {name: value for name, value in sent.items() if value is not None}
    await team.act("event", event=given, **({"event_id": name} if name else {}))


async def said(team: Team, words: str, *, times: int = 1) -> list[Message]:
    """The messages of the bot with these words, once there are so many."""

    async def there() -> list[Message]:
        return [one for one in await team.messages() if one.data["by_app"] and words in one.shown]

    await team.until(lambda: _enough(there, times), words)
    return await there()


async def _enough(there: Any, times: int) -> bool:
    return len(await there()) >= times


async def takes_nothing(team: Team, expected: Mapping[str, str]) -> bool:
    """Wait until exactly these channels are known to take no posts, and return True."""

    async def so() -> bool:
        return bool(json.loads((await team.get("/readyz"))[1])["channels"] == expected)

    return bool(await team.until(so, f"{expected} in /readyz"))


async def test_an_event_that_slack_sends_again_is_answered_once(team: Team) -> None:
    for _ in range(3):
        await event(team, name="Ev0SAMEEVENT")
    await said(team, "You are ben")
    await event(team)
    assert len(await said(team, "You are ben", times=2)) == 2


async def test_the_bot_does_not_answer_itself(team: Team) -> None:
    await event(team, user=BOT, bot_id="B0OUTREACH")
    for times in (1, 2):  # an answer to itself would have come before the second
        await event(team)
        assert len(await said(team, "You are ben", times=times)) == times


async def test_a_mention_without_a_person_is_answered_with_what_to_do(team: Team) -> None:
    await event(team, user=None, bot_id="B0WORKFLOW")
    assert len(await said(team, "Slack didn't say who sent this")) == 1


async def archive_sales(team: Team) -> None:
    """Archive a subscribed channel, in which Ada's reply waits then."""
    await team.ask("subscribe interested", channel=SALES)
    await team.act("channel", channel=SALES, archived=True)
    assert await takes_nothing(team, {SALES: "is_archived"})
    await team.deliver(interested("Ada"))
    await team.card("Ada")


async def test_an_archived_channel_is_known_at_once_and_works_again_at_once(team: Team) -> None:
    await archive_sales(team)
    await team.act("channel", channel=SALES, archived=False)
    assert await takes_nothing(team, {})
    await team.card("Ada", channel=SALES)


async def test_the_trouble_of_a_removed_subscription_leaves_status(team: Team) -> None:
    """Status names a channel that takes no posts while an alert waits for it."""
    await archive_sales(team)

    async def is_told() -> bool:
        return "Channels that reject posts" in (await team.ask("status")).shown

    async def is_gone() -> bool:
        return not await is_told()

    assert await team.until(is_told, "the archived channel in status")
    await team.ask("unsubscribe all #sales")
    assert await team.until(is_gone, "status without the channel")


async def test_a_bot_that_is_removed_knows_where_it_can_still_post(team: Team) -> None:
    await team.ask("subscribe interested", channel=SALES)
    await team.ask("subscribe interested", channel=PRIVATE)
    for channel in (SALES, PRIVATE):
        await team.act("members", channel=channel, remove=BOT)
    assert await takes_nothing(team, {PRIVATE: "not_in_channel"})
    await team.message(f"Can't post to channel {PRIVATE}")
    await team.act("members", channel=PRIVATE, invite=BOT)
    assert await takes_nothing(team, {})
    await team.deliver(interested("Ada"))
    await team.card("Ada", channel=SALES)


async def test_a_channel_with_another_id_is_reported_there_and_its_alerts_wait_for_the_settings(
    team: Team,
) -> None:
    rule, moved = '[[routes.rules]]\nchannel = "{}"\nevents = ["reply.interested"]\n', "C0SHARED07"
    await team.act("members", channel=PRIVATE, invite=BOT)
    await team.restart(rule.format(PRIVATE))
    await team.act("channel", channel=PRIVATE, id=moved)
    assert await takes_nothing(team, {PRIVATE: "channel_id_changed"})
    await team.message(f"from {PRIVATE} to {moved}", channel=moved)
    await team.deliver(interested("Ada"))
    await team.card("Ada")
    assert await takes_nothing(team, {PRIVATE: "channel_id_changed"})
    await team.restart(rule.format(moved))
    assert await takes_nothing(team, {})
    await team.card("Ada", channel=moved)


async def test_a_renamed_channel_is_called_by_its_new_name(team: Team) -> None:
    assert "#sales" in (await team.ask("subscriptions #sales")).shown
    await team.act("channel", channel=SALES, name="sales-emea")
    await event(team)
    await said(team, "You are ben")
    assert "#sales-emea" in (await team.ask("subscriptions #sales-emea")).shown


async def test_readyz_says_at_once_that_the_app_was_removed(team: Team) -> None:
    await team.act("token", uninstalled=True)

    async def told() -> bool:
        state = json.loads((await team.get("/readyz"))[1])["slack"]
        return state in {"app_uninstalled", "tokens_revoked"}

    assert await team.until(told)


async def test_channels_of_the_settings_are_checked_and_joined_at_the_start(team: Team) -> None:
    await team.stop()
    await team.act("channel", channel=ALERTS, archived=True)
    await team.restart(f'[routes]\nfallback = "{GENERAL}"\n')
    assert await takes_nothing(team, {ALERTS: "is_archived"})
    await team.message("Can't post to #outreach-alerts", channel=GENERAL)
    assert BOT in team.slack.workspace.channels[GENERAL].members
    await team.act("channel", channel=ALERTS, archived=False)
    await team.restart()
    assert await takes_nothing(team, {})


@pytest.mark.parametrize("command", ["subscribe bounces", "digest at 09:00"])
@pytest.mark.parametrize(
    ("channel", "reason", "fix"),
    [
        ("#salez", "The bot can't see #salez", "Did you mean #sales?"),
        ("#q3-launch", "#q3-launch is archived", "Unarchive it"),
        ("#hiring", "The bot can't see #hiring", "/invite @outreach"),
        (f"<#{OUTSIDE}>", "The bot can't see", "/invite @outreach"),
    ],
)
async def test_a_channel_that_takes_no_posts_is_refused_with_the_fix(
    team: Team, command: str, channel: str, reason: str, fix: str
) -> None:
    answer = await team.ask(f"{command} {channel}")
    assert reason in answer.shown
    assert fix in answer.shown
    assert "now gets" not in answer.shown


async def test_a_public_channel_is_joined_or_posted_to_and_else_refused(team: Team) -> None:
    assert "#general now gets interested replies" in (await team.ask("subscribe interested #general")).shown
    assert BOT in team.slack.workspace.channels[GENERAL].members
    await team.act("members", channel=GENERAL, remove=BOT)
    await team.act("scopes", remove=["channels:join"])
    assert "#general now gets" in (await team.ask("subscribe bounces #general")).shown
    await team.act("scopes", remove=["chat:write.public"])
    assert "The bot isn't in #general" in (await team.ask("subscribe lead.replied #general")).shown
    assert await team.traffic("event member_joined")
    assert not any("Outreach is ready" in one.shown for one in await team.messages(GENERAL))


async def test_the_bot_greets_a_channel_that_invites_it(team: Team) -> None:
    await team.act("members", channel=GENERAL, invite=BOT)
    greeting = await team.message("Outreach is ready", channel=GENERAL)
    await team.click(greeting, "Subscribe this channel")
    assert "interested" in (await team.message("now gets", channel=GENERAL)).shown


async def test_no_private_channel_of_others_is_suggested(team: Team) -> None:
    for user, is_member in (("cleo", False), ("ann", True)):
        answer = await team.ask("subscribe bounces #leadershp", user=user)
        assert ("Did you mean #leadership?" in answer.shown) == is_member
        assert ("leadership" in answer.shown) == is_member


async def test_nobody_names_a_private_channel_while_slack_does_not_tell_its_members(team: Team) -> None:
    await team.act("faults", method="users.conversations", kind="status", status=503, times=None)
    assert "The bot can't see" in (await team.ask(f"subscriptions <#{PRIVATE}>")).title
    assert "Subscriptions of #sales" in (await team.ask("subscriptions #sales")).title
