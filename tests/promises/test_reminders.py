"""Reminders: an unclaimed reply is reminded of, escalated, and then left alone."""

from __future__ import annotations

from datetime import datetime, timedelta

from tests.kit import Message, Team, bounced, interested, paused_domain
from tests.kit.clock import moment
from tests.kit.team import SALES


async def posted(team: Team, name: str = "Ada") -> Message:
    await team.deliver(interested(name))
    return await team.card(name)


async def barrier(team: Team, name: str) -> None:
    """Deliver a reply and wait for its card: what was due before is posted by then."""
    await posted(team, name)
    await team.settled()


async def test_no_reminder_comes_before_five_minutes(team: Team) -> None:
    card = await posted(team)
    # Half a minute of room: the clock goes on while a slow machine posts the card.
    await team.pass_time(minutes=4, seconds=30)
    await barrier(team, "Grace")
    assert await team.thread(card) == []


async def test_the_reminder_says_how_long_the_reply_has_waited_and_has_a_claim(team: Team) -> None:
    card = await posted(team)
    await team.pass_time(minutes=6)
    reminder = await team.in_thread(card, "6 min")
    assert "Ada at Acme" in reminder.title
    assert "Claim" in reminder.buttons


async def test_an_escalation_comes_after_fifteen_minutes_and_is_the_last(team: Team) -> None:
    card = await posted(team)
    await team.pass_time(minutes=6)
    await team.in_thread(card, "6 min")
    await team.pass_time(minutes=10)
    await team.in_thread(card, "16 min")
    # That nothing comes has no event: another reply, which is posted after whatever was due, shows it.
    await team.pass_time(hours=5)
    await barrier(team, "Grace")
    assert len(await team.thread(card)) == 2


async def test_an_escalation_goes_to_its_channel_and_mentions_whom_it_shall(team: Team) -> None:
    await team.restart(f'[alerts]\nescalate_to = "{SALES}"\nescalate_mention = "U0BEN00002"\n')
    await posted(team)
    await team.pass_time(minutes=16)
    there = await team.message("Ada at Acme", channel=SALES)
    assert "<@U0BEN00002>" in there.mrkdwn


async def test_a_claimed_reply_that_is_not_done_is_reminded_of_after_four_hours(team: Team) -> None:
    card = await posted(team)
    await team.click(card, "Claim", user="ben")
    await team.changed(card, "claimed by @ben")
    await team.pass_time(hours=3, minutes=50)
    await barrier(team, "Grace")
    assert await team.thread(card) == []
    # The mention is in the markup alone: what people read has the name.
    await team.pass_time(minutes=15)
    assert "<@U0BEN00002>" in (await team.in_thread(card, "<@U0BEN00002>")).mrkdwn


async def test_a_person_who_asked_to_be_reminded_is_mentioned_then(team: Team) -> None:
    card = await posted(team)
    await team.click(card, "Claim")
    await team.click(await team.changed(card, "claimed by @ann"), "Remind me in 2 h")
    await team.pass_time(hours=1, minutes=50)
    await barrier(team, "Grace")
    assert not any("<@U0ANN00001>" in one.mrkdwn for one in await team.thread(card))
    await team.pass_time(minutes=12)
    assert "Ada at Acme" in (await team.in_thread(card, "<@U0ANN00001>")).shown


async def test_a_done_reply_is_reminded_of_no_more(team: Team) -> None:
    card = await posted(team)
    await team.click(card, "Claim")
    await team.click(await team.changed(card, "claimed by @ann"), "Mark done")
    await team.changed(card, "done by @ann")
    await team.pass_time(hours=6)
    await barrier(team, "Grace")
    assert await team.thread(card) == []


def around(moment: datetime, *, hours: int = 2) -> str:
    """Spell so many hours before and after a moment, as `HH:MM-HH:MM`, across midnight where it is near."""
    first, last = moment - timedelta(hours=hours), moment + timedelta(hours=hours)
    return f"{first:%H:%M}-{last:%H:%M}"


async def mentioning(team: Team, quiet: str) -> None:
    """Let the alert channel mention Ben, but in these hours."""
    await team.restart(f'[routes]\nmention = "U0BEN00002"\nquiet = "{quiet}"\ntimezone = "UTC"\n')


async def test_quiet_hours_hold_the_mention_and_not_the_card(team: Team) -> None:
    await mentioning(team, around(moment()))
    await team.ask("subscribe bounces here")
    await team.deliver(bounced())
    card = await posted(team)
    assert "<@U0BEN00002>" not in card.mrkdwn
    # What can wait is posted when they end.
    assert "1 held until quiet hours end" in (await team.ask("status")).shown
    assert not any("bob@gone" in one.shown for one in await team.messages())
    await team.pass_time(hours=3)
    await team.message("bob@gone")


async def test_outside_quiet_hours_the_channel_is_mentioned(team: Team) -> None:
    await mentioning(team, around(moment() + timedelta(hours=12)))
    assert "<@U0BEN00002>" in (await posted(team)).mrkdwn


async def test_a_channel_mentions_whom_its_settings_name(team: Team) -> None:
    await team.restart('[routes]\nmention = "U0BEN00002"\n')
    assert "<@U0BEN00002>" in (await posted(team)).mrkdwn


async def test_a_paused_domain_is_reminded_of_until_someone_acknowledges(team: Team) -> None:
    await team.deliver(paused_domain("useacme.example"))
    card = await team.card("useacme.example is paused")
    await team.pass_time(minutes=6)
    await team.in_thread(card, "useacme.example")
    await team.click(await team.present(card), "Acknowledge")
    await team.changed(card, "@ann")
    late = await team.ask(f"ack {card.alert_id}", user="ben")
    assert "@ann acknowledged useacme.example" in late.title
    await team.in_thread(card, "acknowledged by @ann")
    before = len(await team.thread(card))
    await team.pass_time(hours=9)
    await barrier(team, "Ada")
    assert len(await team.thread(card)) == before


async def with_rota(team: Team) -> None:
    """Let the bot mention Ben and Cleo in turn."""
    await team.restart('[routes.rota]\npeople = ["U0BEN00002", "U0CLEO0003"]\npass_after = "1h"\n')


async def test_who_is_away_gets_no_turn_until_they_are_back(team: Team) -> None:
    await with_rota(team)
    await team.ask("away for 2h", user="ben")
    # Two replies: with two people in the rota, one of them would be Ben's turn.
    for name in ("Ada", "Grace"):
        assert "<@U0BEN00002>" not in (await posted(team, name)).mrkdwn
    await team.ask("back", user="ben")
    both = [(await posted(team, name)).mrkdwn for name in ("Lena", "Mary")]
    assert any("<@U0BEN00002>" in text for text in both)


async def test_nobody_is_away_for_more_than_twelve_months(team: Team) -> None:
    await with_rota(team)
    # Twelve months are 365 or 366 days, so that both are well beyond the limit and below it.
    far, near = (f"{moment() + timedelta(days=days):%Y-%m-%d}" for days in (380, 340))
    refused = await team.ask(f"away until {far}", user="ben")
    assert "twelve months" in refused.shown
    assert "is away" not in refused.title
    assert "is away" in (await team.ask(f"away until {near}", user="ben")).title
