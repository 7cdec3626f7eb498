"""Channels: each gets what it has subscribed to, and a private one is its members' alone."""

from __future__ import annotations

import json

import pytest

from tests.kit import Message, Team, bounced, interested
from tests.kit.team import ALERTS, PRIVATE, SALES, data_of


async def test_an_unsubscribed_kind_is_posted_no_more(team: Team) -> None:
    await team.ask("subscribe lead.bounced #sales")
    await team.deliver(bounced("Bob"))
    await team.card("bob@gone.example", channel=SALES)
    await team.ask("unsubscribe lead.bounced #sales")
    await team.deliver(bounced("Rob"))
    await team.deliver(interested("Ada"))
    await team.card("Ada")
    await team.settled()
    assert not any("rob@gone.example" in one.shown for one in await team.messages(SALES))


async def test_a_subscription_to_one_sequence_gets_no_other(team: Team) -> None:
    await team.ask('subscribe lead.bounced sequence="Fintech ops leaders" #sales')
    await team.deliver(bounced("Bob", sequence="Spring"))
    await team.deliver(bounced("Rob", sequence="Fintech ops leaders"))
    await team.card("rob@gone.example", channel=SALES)
    assert not any("bob@gone.example" in one.shown for one in await team.messages(SALES))


async def test_the_answer_to_a_subscription_shows_the_channels_whole_set(team: Team) -> None:
    await team.ask("subscribe bounces #sales")
    answer = await team.ask("subscribe opt-outs '#sales'")  # as a line for a shell has it
    assert "ounces" in answer.shown
    assert "pt-outs" in answer.shown


@pytest.mark.parametrize("line", ["subscriptions #leadership", "subscribe bounces #leadership"])
async def test_a_private_channel_is_nothing_to_others(team: Team, line: str) -> None:
    await team.say("subscribe opt-outs here", channel=PRIVATE, wait=1)
    answer = await team.ask(line, user="cleo")
    assert "pt-outs" not in answer.shown
    listed = await team.ask("subscriptions", channel=PRIVATE)
    assert "ounces" not in listed.shown


@pytest.mark.parametrize("line", ["subscribe bounces #leadership", "digest at 09:00 UTC #leadership"])
@pytest.mark.parametrize("place", [SALES, "dm"])
async def test_what_a_private_channel_gets_is_told_in_no_other(team: Team, line: str, place: str) -> None:
    answer = await team.ask(line, channel=place)
    assert "#leadership now gets" in answer.title
    await team.ask("whoami", channel=place)
    for channel in (SALES, ALERTS):
        seen = [one for one in await team.messages(channel) if not one.data.get("seen_by")]
        assert not any("now gets" in one.shown for one in seen)


async def test_a_conversation_with_the_bot_gets_what_it_subscribes_to(team: Team) -> None:
    answer = await team.ask("subscribe bounces here", channel="dm")
    assert answer.title == "This conversation now gets bounces"
    await team.deliver(bounced("Bob"))
    await team.card("bob@gone.example", channel="dm")
    await team.settled()
    assert not any("now gets" in one.shown for one in await team.messages(ALERTS))


async def test_the_audit_log_names_no_private_channel_to_others(team: Team) -> None:
    await team.say("subscribe bounces here", channel=PRIVATE, wait=1)
    log = await team.ask("audit", user="cleo")
    assert "ann" in log.shown
    assert "leadership" not in data_of(log)
    assert PRIVATE not in data_of(log)
    assert "leadership" in (await team.ask("audit", channel=PRIVATE)).shown


async def test_a_message_about_a_digest_says_how_it_is_now(team: Team) -> None:
    told = await team.ask("digest at 09:00 UTC #sales")
    assert "#sales now gets a digest" in told.title
    await team.ask("digest at mon 08:00 UTC #sales")
    assert (await team.ask("digest at 09:00 UTC #sales")).title.startswith("Digests of")
    await team.ask("digest off #sales", user="ben")
    now = await team.changed(told, "#sales no longer gets a digest")
    assert not now.buttons


async def test_a_message_about_a_subscription_says_how_it_is_now(team: Team) -> None:
    told = await team.ask("subscribe bounces #sales")
    await team.ask("unsubscribe bounces #sales", user="ben")
    now = await team.changed(told, "#sales is unsubscribed from bounces")
    assert "now gets" not in now.shown
    assert not now.buttons


async def test_a_digest_comes_when_it_is_due(team: Team) -> None:
    await team.ask("digest at 09:00 UTC")
    known = {one.ts for one in await team.messages()}
    await team.deliver(bounced("Bob"))
    await team.settled()
    await team.account.fail(endpoint="GET /stats", status=500, times=None)
    await team.pass_time(hours=19, minutes=0)
    await team.account.recover()

    async def there() -> bool:
        await team.pass_time(seconds=31)  # what the service couldn't tell is asked for again
        return any(one.ts not in known and "Digest" in one.title for one in await team.messages())

    assert await team.until(there, "the digest")


async def test_a_restart_gives_no_second_digest(team: Team) -> None:
    async def digests() -> list[Message]:
        return [one for one in await team.mentioned() if "Digest" in one.title]

    await team.ask("digest at 09:00 UTC")
    await team.pass_time(hours=19)
    (first,) = await team.until(digests, "the digest")
    await team.restart()
    await team.pass_time(minutes=10)
    await team.ask("whoami")
    await team.settled()
    assert [one.ts for one in await digests()] == [first.ts]


async def test_a_digest_counts_what_was_not_posted(team: Team) -> None:
    await team.deliver(bounced("Bob"))
    await team.deliver(bounced("Rob"))
    await team.settled()
    assert "2 bounces" in (await team.ask("digest today")).shown.lower().replace("bounces 2", "2 bounces")


async def test_a_digest_that_was_turned_off_comes_no_more(team: Team) -> None:
    await team.ask("digest at 09:00 UTC")
    await team.ask("digest off")
    await team.pass_time(hours=19)
    await team.deliver(interested("Ada"))
    await team.card("Ada")
    await team.settled()
    assert not any("Digest" in one.title for one in await team.messages() if not one.data["ephemeral"])


async def test_readyz_tells_the_state_of_everything(team: Team) -> None:
    body = json.loads((await team.get("/readyz"))[1])
    assert {"ready", "database", "slack", "api", "workspaces"} <= set(body)
