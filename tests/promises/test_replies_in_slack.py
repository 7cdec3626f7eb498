"""Replies are worked on in Slack: given to a person, snoozed, looked up, and spoken of in their threads."""

from __future__ import annotations

import json
from datetime import datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.kit import Message, Team, interested
from tests.kit.clock import moment
from tests.kit.team import ALERTS, PRIVATE, data_of

BEN, CLEO, BOT = "U0BEN00002", "U0CLEO0003", "U0OUTREACH"
QUOTE = "On Tue, 3 Nov 2026 at 10:12, Sam <sam@mail.example> wrote:\n> Hi Ada,\n> do you have time?"
ROTA = f'[routes]\nmention = "S0SALESAES"\n[routes.rota]\npeople = ["{BEN}", "{CLEO}"]\npass_after = "1h"\n'


async def posted(team: Team, name: str = "Ada", *, channel: str = ALERTS, **changes: Any) -> Message:
    await team.deliver(interested(name, **changes))
    return await team.card(name, channel=channel)


async def mention(team: Team, card: Message, line: str, *, user: str = "ben") -> None:
    """Write `@outreach …` into a card's thread."""
    text = f"<@{BOT}> {line}"
    await team.act("message", text=text, channel=card.channel, thread_ts=card.ts, user=user)


def element(message: Message, kind: str) -> str:
    """The action of the element of this kind."""
    elements = [one for block in message.data["blocks"] for one in block.get("elements", ())]
    return str(next(one["action_id"] for one in elements if one["type"] == kind))


async def pick(team: Team, question: Message, person: str) -> list[Message]:
    """Choose a person from the list of a question."""
    action = element(question, "users_select")
    return await team.click(question, "", action_id=action, value=person)


async def modal(team: Team, words: str, user: str = "ben") -> str:
    """The view that is open before a person, once it shows these words."""

    async def there() -> str:
        view = json.dumps(await team.open_view(user), ensure_ascii=False)
        return view if words in view else ""

    return str(await team.until(there, words))


async def restarted(team: Team, *, alert_channel: str = ALERTS, toml: str = "") -> None:
    team.environ["OUTREACH_ALERT_CHANNEL"] = alert_channel
    await team.restart(toml)


async def test_a_reply_is_assigned_from_its_card_and_both_people_are_mentioned(team: Team) -> None:
    card = await posted(team)
    (question,) = await team.click(card, "Assign …")
    assert question.data["seen_by"] == "U0ANN00001"
    await pick(team, question, BEN)
    await team.changed(card, "assigned to @ben by @ann after")
    assert f"<@{BEN}>" in data_of(await team.in_thread(card, "@ann assigned Ada at Acme to @ben"))
    assert [one for one in await team.messages() if one.data["seen_by"]] == []
    question = await team.ask("assign ada")
    assert "@ben has it, and will be notified." in question.shown
    await pick(team, question, CLEO)
    await team.changed(card, "assigned to @cleo by @ann")
    assert f"<@{CLEO}> <@{BEN}>" in data_of(await team.in_thread(card, "Acme to @cleo"))
    question = await team.ask("assign ada")
    await pick(team, question, CLEO)
    await team.changed(question, "Nothing was changed")
    assert (await team.ask("audit")).shown.count("assign al_") == 2


@pytest.mark.parametrize(
    ("person", "reason"),
    [
        ("U0GUS00005", "@gus doesn't have permission to claim replies there."),
        ("U0EVA00006", "@eva doesn't have permission to claim replies there."),
        (BOT, "@outreach is a bot."),
        ("U0NOBODY99", "Slack didn't say who that is."),
    ],
)
async def test_who_may_not_claim_is_not_assigned(team: Team, person: str, reason: str) -> None:
    card = await posted(team)
    (question,) = await team.click(card, "Assign …")
    await pick(team, question, person)
    await team.message(reason)
    assert "assign" not in (await team.ask("audit")).shown
    assert "Claim" in (await team.present(card)).buttons


async def test_who_is_not_in_the_private_channel_of_a_reply_is_not_assigned(team: Team) -> None:
    await restarted(team, alert_channel=PRIVATE)
    card = await posted(team, channel=PRIVATE)
    (question,) = await team.click(card, "Assign …")
    await pick(team, question, "U0DEV00004")
    again = await team.message("@dev isn't in the private channel of this reply.", channel=PRIVATE)
    await pick(team, again, BEN)
    assert "@dev" not in (await team.changed(card, "assigned to @ben by @ann")).shown


async def test_a_whole_name_is_never_the_beginning_of_another_leads(team: Team) -> None:
    """Ada's reply is done; Adam's, which is open, isn't what a line about Ada means."""
    await posted(team, "Ada")
    adam = await posted(team, "Adam")
    await team.ask("done ada")
    answer = await team.ask("not interested ada")
    assert "Ada" in answer.title
    assert "Nothing was changed" in answer.shown
    assert "Claim" in (await team.present(adam)).buttons


async def test_tomorrow_begins_where_the_person_who_snoozes_is(team: Team) -> None:
    card = await posted(team)
    (question,) = await team.click(card, "Snooze until …", user="dev")
    assert "Asia/Kolkata" in question.shown
    await team.click(question, "Tomorrow, 9:00", user="dev", wait=0)
    snoozed = await team.changed(card, "snoozed by @dev")
    # India is five and a half hours ahead: for a part of each day its tomorrow isn't UTC's.
    zone = ZoneInfo("Asia/Kolkata")
    tomorrow = moment().astimezone(zone).date() + timedelta(days=1)
    assert f"<!date^{int(datetime.combine(tomorrow, time(9), zone).timestamp())}^" in data_of(snoozed)


@pytest.mark.parametrize(
    ("ahead", "is_taken"),
    [(timedelta(hours=30), True), (timedelta(days=91), False), (-timedelta(minutes=1), False)],
)
async def test_a_reply_is_snoozed_until_a_chosen_date_in_the_next_90_days(
    team: Team, ahead: timedelta, *, is_taken: bool
) -> None:
    card = await posted(team)
    (question,) = await team.click(card, "Snooze until …")
    at = int((moment() + ahead).timestamp())
    await team.click(question, "", action_id=element(question, "datetimepicker"), value=at)
    if is_taken:
        assert f"<!date^{at}^" in data_of(await team.changed(card, "snoozed by @ann"))
    else:
        await team.message("Snooze until when?")
        assert "snoozed" not in (await team.present(card)).shown


async def test_the_lead_of_a_card_is_shown_in_a_modal_after_one_request(team: Team) -> None:
    (lead,) = (await team.account.request("GET", "/leads?limit=1&status=interested"))["data"]
    card = await posted(team, lead={"email": lead["email"], "first_name": "Ada", "company": "Acme"})
    await team.ask("done ada", user="ben")
    card = await team.changed(card, "done by @ben")
    before = len(team.account.asked("GET", "/leads"))
    await team.click(card, "View lead", user="ben", wait=0)
    view = await modal(team, "Open card")
    # By the status that the event implies, the lead is on the first page, and not behind all others.
    assert len(team.account.asked("GET", "/leads")) == before + 1
    for words in (lead["email"], "Yes, call me.", f"/archives/{card.channel}/p{card.ts.replace('.', '')}"):
        assert words in view


async def test_the_details_of_a_card_are_the_whole_reply_and_not_for_other_organizations(team: Team) -> None:
    long = "Yes, Thursday works for us. " * 90
    await team.act("members", channel=ALERTS, invite="U0EVA00006")
    card = await posted(team, reply=f"{long}\n\n{QUOTE}")
    assert "do you have time" not in card.shown
    for user, words in (("eva", "other organization"), ("ben", "do you have time")):
        await team.click(card, "Details …", user=user, wait=0)
        view = await modal(team, words, user)
    assert json.dumps(f"{long}\n\n{QUOTE}")[1:-1] in view
    assert "do you have time" not in json.dumps(await team.open_view("eva"))


async def test_details_are_shown_of_a_lead_without_an_address_too(team: Team) -> None:
    card = await posted(team, lead={"first_name": "Ada"}, reply=f"Yes.\n\n{QUOTE}")
    await team.click(card, "Details …", user="ben", wait=0)
    view = await modal(team, "do you have time")
    assert "no longer stored" not in view


async def test_a_mention_in_a_cards_thread_means_that_card(team: Team) -> None:
    card = await posted(team, sequence="Fintech ops leaders")
    await mention(team, card, "claim")
    await team.in_thread(card, "@ben claimed Ada at Acme")
    await mention(team, card, "take over", user="cleo")
    await team.click(await team.in_thread(card, "@ben has claimed"), "Take over", user="cleo")
    await team.in_thread(card, "@cleo took over Ada at Acme from @ben")
    await mention(team, card, "help", user="cleo")
    await team.in_thread(card, "pause")
    await mention(team, card, "pause for 2h reason too many bounces", user="cleo")
    await team.in_thread(card, "Fintech ops leaders paused until")
    assert await team.account.is_paused("Fintech ops leaders")
    await mention(team, card, "not interested wrong market", user="cleo")
    await team.changed(card, "not interested (wrong market), says @cleo")
    await mention(team, card, "reopen", user="cleo")
    await team.in_thread(card, "@cleo reopened Ada at Acme")
    await mention(team, card, "done", user="cleo")
    await team.changed(card, "done by @cleo")
    took = [one for one in await team.thread(card) if "took over" in one.shown]
    assert [f"<@{BEN}>" in one.mrkdwn for one in took] == [True]


async def test_an_answer_outlives_a_slack_that_refuses_it_and_a_restart(team: Team) -> None:
    card = await posted(team)
    await team.act("faults", method="chat.postMessage", kind="error", error="internal_error", times=2)
    await mention(team, card, "claim")
    await team.in_thread(card, "@ben claimed Ada")
    # Slack puts the answer off for longer than this bot lives.
    await team.act("faults", method="chat.postMessage", kind="rate_limited", retry_after=3)
    await mention(team, card, "release")
    await team.changed(card, "Claim")
    await team.restart()
    await team.pass_time(seconds=3)
    await team.in_thread(card, "@ben released Ada")
    assert len([one for one in await team.thread(card) if "@ben claimed Ada" in one.shown]) == 1


async def test_a_list_of_replies_has_pages_and_shows_the_same_one_after_a_claim(team: Team) -> None:
    for number in range(32):
        await team.deliver(interested(f"Ada{number}"))
    await team.settled()
    first = await team.ask("open", user="ben")
    assert "1 to 15 of 32" in first.shown
    (second,) = await team.click(first, "Next", user="ben")
    assert "16 to 30 of 32" in second.shown
    assert "Previous" in second.buttons
    await team.click(second, "Claim", user="ben")
    page = await team.message("16 to 30 of 31")
    assert "claimed Ada" in page.shown


@pytest.mark.parametrize(
    ("gone", "words"),
    [
        ([BEN], [f"<@{CLEO}>", "@cleo's turn"]),
        ([BEN, CLEO], ["<!subteam^S0SALESAES>", "everyone in the rota is away"]),
    ],
)
async def test_a_rota_mentions_one_person_and_skips_who_is_deactivated(
    team: Team, gone: list[str], words: list[str]
) -> None:
    for person in gone:
        await team.act("user", user=person, deleted=True)
    await restarted(team, toml=ROTA)

    async def asked() -> bool:
        return len(await team.traffic("users.info")) >= 2

    await team.until(asked)
    drawn = data_of(await posted(team))
    for one in words:
        assert one in drawn
    assert f"<@{BEN}>" not in drawn


async def test_no_reply_waits_until_slack_says_who_is_in_the_rota(team: Team) -> None:
    # Longer than the test may take: the card must not wait for who is a member.
    await team.act("faults", method="users.info", kind="delay", delay=60, times=100)
    await restarted(team, toml=ROTA)
    assert f"<@{BEN}>" in data_of(await posted(team))
