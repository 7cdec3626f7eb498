"""Replies: one person has each, everybody sees who, and none is forgotten."""

from __future__ import annotations

import pytest

from tests.kit import Message, Team, interested


async def posted(team: Team, name: str = "Ada") -> Message:
    await team.deliver(interested(name))
    return await team.card(name)


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


@pytest.mark.parametrize(("line", "has"), [("assign Ada to ben", "@ben"), ("assign Ada to me", "@ann")])
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
