"""Events of Slack: taken once, about the bot's channels and its token at once, and never from the bot itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sandbox.slack import seed
from shared.records.records import RecordsUnavailable, Subscription
from shared.store.messages import ChannelRefused
from tests.bot.harness import CHANNEL, BotHarness, bot_inside, interested, open_harness
from tests.kit.waiting import until


async def mention(bot: BotHarness) -> dict[str, Any]:
    """The event of a mention by ben, that is still to be sent."""
    message = (await bot.control("message", text="@outreach whoami", user=seed.BEN.id))["message"]
    text = f"<@{seed.BOT.id}> whoami"
    return {"type": "app_mention", "user": seed.BEN.id, "text": text, "ts": message["ts"], "channel": CHANNEL}


async def subscribed(bot: BotHarness, channel: str) -> None:
    assert bot.running is not None
    wanted = [Subscription(channel=channel, event="reply.interested")]
    await bot.running.store.records.subscribe("default", wanted)


async def broken(bot: BotHarness) -> dict[str, str]:
    assert bot.running is not None
    return await bot.running.store.posting.broken()


async def until_broken(bot: BotHarness, expected: dict[str, str]) -> bool:
    async def found() -> bool:
        return await broken(bot) == expected

    return bool(await until(found))


async def answers(bot: BotHarness, words: str) -> list[dict[str, Any]]:
    return [m for m in await bot.messages() if m["by_app"] and words in m["text"]]


async def until_answered(bot: BotHarness, words: str, *, times: int = 1) -> None:
    async def there() -> bool:
        return len(await answers(bot, words)) >= times

    await until(there)


async def test_an_event_that_slack_sends_again_is_answered_once(connected_bot: BotHarness) -> None:
    event = await mention(connected_bot)
    for _ in range(3):
        await connected_bot.control("event", event=event, event_id="Ev0SAMEEVENT")
    await until_answered(connected_bot, "You are ben")
    await connected_bot.control("event", event=await mention(connected_bot), event_id="Ev0ANOTHER")
    await until_answered(connected_bot, "You are ben", times=2)
    assert len(await answers(connected_bot, "You are ben")) == 2


async def test_the_bot_does_not_answer_itself(connected_bot: BotHarness) -> None:
    event = await mention(connected_bot)
    await connected_bot.control("event", event={**event, "user": seed.BOT.id, "bot_id": seed.APP.bot_id})
    for times in (1, 2):  # an answer to itself would have come before the second
        await connected_bot.control("event", event=await mention(connected_bot))
        await until_answered(connected_bot, "You are ben", times=times)
    assert len([m for m in await connected_bot.messages() if m["by_app"]]) == 2


async def test_a_workflows_mention_without_a_user_is_answered_with_what_to_do(
    connected_bot: BotHarness,
) -> None:
    nobody = {key: value for key, value in (await mention(connected_bot)).items() if key != "user"}
    await connected_bot.control("event", event={**nobody, "bot_id": "B0WORKFLOW"})
    await until_answered(connected_bot, "Slack didn't say who sent this")
    assert len(await answers(connected_bot, "Slack didn't say who sent this")) == 1


async def test_an_archived_channel_is_known_at_once_and_works_again_at_once(
    connected_bot: BotHarness,
) -> None:
    await subscribed(connected_bot, seed.SALES)
    await connected_bot.control("channel", channel=seed.SALES, archived=True)
    assert await until_broken(connected_bot, {seed.SALES: "is_archived"})
    assert await connected_bot.deliver(interested(1)) == 200
    await connected_bot.until_posted(1)
    assert await connected_bot.messages(seed.SALES) == []
    await connected_bot.control("channel", channel=seed.SALES, archived=False)
    assert await until_broken(connected_bot, {})

    async def posted() -> bool:
        return len(await connected_bot.messages(seed.SALES)) == 1

    await until(posted)


async def test_a_private_channel_is_closed_when_the_bot_is_removed_and_open_when_it_is_back(
    connected_bot: BotHarness,
) -> None:
    await subscribed(connected_bot, seed.PRIVATE)
    await connected_bot.control("members", channel=seed.PRIVATE, remove=seed.BOT.id)
    assert await until_broken(connected_bot, {seed.PRIVATE: "not_in_channel"})
    await connected_bot.control("members", channel=seed.PRIVATE, invite=seed.BOT.id)
    assert await until_broken(connected_bot, {})


async def test_a_channel_with_another_id_is_reported_there_and_its_alerts_wait_for_the_settings(
    tmp_path: Path,
) -> None:
    rule = '[[routes.rules]]\nchannel = "{}"\nevents = ["reply.interested"]\n'
    trouble = "channel_id_changed"
    async with open_harness(tmp_path) as bot:
        bot.config(rule.format(seed.PRIVATE))
        await bot.control("members", channel=seed.PRIVATE, invite=seed.BOT.id)
        async with bot_inside(bot):
            await bot.control("channel", channel=seed.PRIVATE, id="C0SHARED07")
            assert await until_broken(bot, {seed.PRIVATE: trouble})
            assert json.loads((await bot.get("/readyz"))[1])["channels"] == {seed.PRIVATE: trouble}

            async def reported() -> bool:
                return f"from {seed.PRIVATE} to C0SHARED07" in json.dumps(await bot.messages("C0SHARED07"))

            await until(reported)
            assert await bot.deliver(interested(1)) == 200
            await bot.until_posted(1)
            assert await until_broken(bot, {seed.PRIVATE: trouble})
        bot.config(rule.format("C0SHARED07"))
        async with bot_inside(bot):
            assert await until_broken(bot, {})

            async def posted() -> bool:
                return "Ada 1" in json.dumps(await bot.messages("C0SHARED07"))

            await until(posted)


async def test_a_public_channel_stays_open_without_the_bot(connected_bot: BotHarness) -> None:
    await subscribed(connected_bot, seed.SALES)
    await connected_bot.control("members", channel=seed.SALES, remove=seed.BOT.id)
    # That nothing is closed has no event: when a later one is answered, the removal was dealt with.
    await connected_bot.control("event", event=await mention(connected_bot))
    await until_answered(connected_bot, "You are ben")
    assert await broken(connected_bot) == {}


async def test_what_interrupts_an_event_about_a_channel_has_slack_send_it_again(
    connected_bot: BotHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    await subscribed(connected_bot, seed.SALES)
    assert connected_bot.running is not None
    outcomes, attempts = connected_bot.running.store.posting, list[str]()
    close = outcomes.close_channel

    async def interrupted_once(channel: str, refused: ChannelRefused, **options: Any) -> None:
        attempts.append(channel)
        if len(attempts) == 1:
            # Slack sends again what isn't acknowledged: taken first, the archived channel would stay unknown.
            raise RecordsUnavailable("the process was killed here")
        await close(channel, refused, **options)

    monkeypatch.setattr(outcomes, "close_channel", interrupted_once)
    await connected_bot.control("channel", channel=seed.SALES, archived=True)
    assert await until_broken(connected_bot, {seed.SALES: "is_archived"})
    assert attempts == [seed.SALES] * 2


async def test_a_renamed_channel_is_called_by_its_new_name(connected_bot: BotHarness) -> None:
    button = {"text": "/outreach subscriptions #sales", "channel": CHANNEL, "wait": 10}
    await connected_bot.control("command", **button)
    await connected_bot.control("channel", channel=seed.SALES, name="sales-emea")
    await connected_bot.control("event", event=await mention(connected_bot))
    await until_answered(connected_bot, "You are ben")
    (answer,) = (
        await connected_bot.control("command", **{**button, "text": "/outreach subscriptions #sales-emea"})
    )["answers"]
    assert "sales-emea" in json.dumps(answer)


async def test_readiness_reports_a_removed_app_at_once(connected_bot: BotHarness) -> None:
    await connected_bot.control("token", uninstalled=True)

    async def found() -> bool:
        return json.loads((await connected_bot.get("/readyz"))[1])["slack"] in {
            "app_uninstalled",
            "tokens_revoked",
        }

    assert await until(found)


async def test_channels_of_the_settings_are_checked_when_the_bot_starts(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as bot:
        bot.config(f'[routes]\nfallback = "{seed.GENERAL}"\n')
        await bot.control("channel", channel=CHANNEL, archived=True)
        async with bot_inside(bot):
            assert await until_broken(bot, {CHANNEL: "is_archived"})

            async def found() -> bool:
                return "Can't post to #outreach-alerts" in json.dumps(await bot.messages(seed.GENERAL))

            async def joined() -> bool:
                return seed.BOT.id in bot.slack.workspace.channels[seed.GENERAL].members

            await until(found)
            await until(joined)
        await bot.control("channel", channel=CHANNEL, archived=False)
        async with bot_inside(bot):
            assert await until_broken(bot, {})
