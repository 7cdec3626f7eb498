"""Replies: one person has each, everybody sees who, and none is forgotten."""

from __future__ import annotations

import pytest

from tests.kit import Message, Team, interested


async def posted(team: Team, name: str = "Ada") -> Message:
    await team.deliver(interested(name))
    return await team.card(name)


async def test_the_title_of_a_claimed_reply_says_by_whom_and_after_how_long(team: Team) -> None:
    card = await posted(team)
    await team.pass_time(minutes=3)
    await team.click(card, "Claim")
    assert (await team.card("claimed by @ann")).title == "Ada at Acme · claimed by @ann after 3 min"


async def test_who_claims_too_late_takes_nothing_from_a_colleague(team: Team) -> None:
    card = await posted(team)
    await team.click(card, "Claim", user="ann")
    await team.card("claimed by @ann")
    await team.ask("claim Ada", user="ben")
    assert "claimed by @ann" in (await team.card("Ada at Acme")).title


async def test_taking_a_reply_over_asks_and_shows_the_new_person_and_tells_the_one_before(team: Team) -> None:
    card = await posted(team)
    await team.click(card, "Claim", user="ann")
    (question,) = await team.click(await team.changed(card, "claimed by @ann"), "Take over", user="ben")
    assert "@ann has claimed Ada at Acme" in question.shown
    assert "claimed by @ann" in (await team.present(card)).title
    await team.click(question, "Take over", user="ben")
    assert "claimed by @ben" in (await team.changed(card, "@ben")).title
    note = await team.in_thread(card, "took over")
    assert "<@U0ANN00001>" in note.mrkdwn


@pytest.mark.parametrize(
    "line", ["done Ada", "take over Ada", "release Ada", "not interested Ada: no budget"]
)
async def test_what_takes_a_reply_from_a_colleague_asks_first_and_tells_them(team: Team, line: str) -> None:
    card = await posted(team)
    await team.click(card, "Claim", user="ann")
    before = await team.changed(card, "claimed by @ann")
    question = await team.ask(line, user="ben")
    assert question.buttons[1:] == ["Cancel"]
    assert (await team.present(card)).shown == before.shown
    await team.click(question, question.buttons[0], user="ben")
    assert "<@U0ANN00001>" in (await team.in_thread(card, "@ben")).mrkdwn

    async def repainted() -> bool:
        return "claimed by @ann" not in (await team.present(card)).title

    assert await team.until(repainted)


async def test_a_yes_takes_a_reply_from_nobody_else_than_was_asked_about(team: Team) -> None:
    card = await posted(team)
    await team.click(card, "Claim", user="ann")
    await team.changed(card, "claimed by @ann")
    question = await team.ask("done Ada", user="cleo")
    await team.ask("release Ada", user="ann")
    await team.click(await team.changed(card, "is interested"), "Claim", user="ben")
    await team.changed(card, "claimed by @ben")
    (answer,) = await team.click(question, "Mark done", user="cleo")
    assert "@ben has claimed" in answer.shown
    assert "claimed by @ben" in (await team.present(card)).title


async def test_a_released_reply_can_be_claimed_again(team: Team) -> None:
    card = await posted(team)
    await team.click(card, "Claim")
    await team.card("claimed by @ann")
    await team.ask("release Ada")

    async def free() -> bool:
        return "Claim" in (await team.card("Ada")).buttons

    assert await team.until(free)
    await team.click(await team.card("Ada"), "Claim", user="ben")
    await team.card("claimed by @ben")


async def test_a_claimed_reply_is_not_reminded_of_as_unclaimed(team: Team) -> None:
    card = await posted(team)
    await team.click(card, "Claim")
    await team.card("claimed by @ann")
    await posted(team, "Grace")
    await team.pass_time(minutes=6)

    async def reminded() -> list[Message]:
        found = await team.messages()
        return [one for one in found if one.data.get("thread_ts") and one.data["thread_ts"] != one.ts]

    threads = {one.data["thread_ts"] for one in await team.until(reminded)}
    assert card.ts not in threads


async def test_a_guest_can_claim_nothing(team: Team) -> None:
    card = await posted(team)
    await team.click(card, "Claim", user="gus")
    await team.deliver(interested("Grace"))
    await team.card("Grace")
    assert "Claim" in (await team.card("Ada")).buttons


async def test_a_reply_is_worked_on_by_the_name_of_its_lead(team: Team) -> None:
    lines = {
        "claim Ada": "claimed by @ann after",
        "assign Bob @ben": "assigned to @ben by @ann",
        "snooze Cleo 2h": "snoozed by @ann",
        "snooze Dora until tomorrow 10:00": "snoozed by @ann",
        "remind me of Emil in 2h": "snoozed by @ann",
        "done Fay": "done by @ann after",
        "remind me in 2h about Hal": "snoozed by @ann",
        "not interested initech because no budget": "not interested (no budget), says @ann",
    }
    names = ("Ada", "Bob", "Cleo", "Dora", "Emil", "Fay", "Hal")
    cards = [await posted(team, name) for name in names]
    lead = {"email": "gil@initech.example", "first_name": "Gil", "company": "Initech"}
    await team.deliver(interested(lead=lead))
    cards.append(await team.card("Gil"))
    for card, (line, title) in zip(cards, lines.items(), strict=True):
        await team.ask(line)
        assert title in (await team.changed(card, title)).title


@pytest.mark.parametrize("line", ["reopen Ada", "take over Ada"])
async def test_what_changes_nothing_of_an_unclaimed_reply_accuses_nobody(team: Team, line: str) -> None:
    await posted(team)
    answer = await team.ask(line)
    assert "Nothing was changed" in answer.shown
    assert "else" not in answer.shown


@pytest.mark.parametrize("line", ["claim Ada", "snooze Ada 2h"])
async def test_a_name_that_only_a_done_reply_has_is_answered_with_how_it_stands(
    team: Team, line: str
) -> None:
    card = await posted(team)
    await team.ask("done Ada")
    before = await team.changed(card, "done by @ann")
    answer = await team.ask(line, user="ben")
    assert "Ada at Acme · done by @ann" in answer.title
    assert "Nothing was changed" in answer.shown
    assert (await team.present(card)).shown == before.shown


async def test_a_reminder_of_the_only_claim_needs_no_name(team: Team) -> None:
    card = await posted(team)
    await team.click(card, "Claim")
    await team.changed(card, "claimed by @ann")
    await team.ask("remind me in 2h")
    assert "Reminder" in (await team.changed(card, "Reminder")).shown


@pytest.mark.parametrize("line", ["take over", "snooze 2h"])
async def test_an_act_that_names_no_reply_asks_which(team: Team, line: str) -> None:
    card = await posted(team)
    assert "Which reply?" in (await team.ask(line)).title
    assert "is interested" in (await team.present(card)).title


@pytest.mark.parametrize(
    ("line", "has"),
    [("assign Ada to ben", "@ben"), ("assign Ada to me", "@ann"), ("assign Ada ben", "@ben")],
)
async def test_a_reply_is_assigned_by_a_plain_name(team: Team, line: str, has: str) -> None:
    card = await posted(team)
    await team.act("user", user="cleo", deleted=True)
    assert "@cleo's account is deactivated" in (await team.ask("assign Ada to <@U0CLEO0003>")).shown
    await team.say(line, wait=1)
    assert has in (await team.changed(card, has)).shown


async def test_a_release_in_a_thread_is_told_there_once(team: Team) -> None:
    card = await posted(team)
    await team.click(card, "Claim")
    await team.act("message", text="<@U0OUTREACH> release", channel=card.channel, thread_ts=card.ts, wait=5)
    await team.in_thread(card, "released Ada")
    told = [one for one in await team.settled() if one.data.get("thread_ts") == card.ts]
    assert sum("released Ada" in one.title for one in told) == 1
