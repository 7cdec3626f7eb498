"""Replies: one person has each, everybody sees who, and none is forgotten."""

from __future__ import annotations

import pytest

from tests.kit import Message, Team, interested


async def posted(team: Team, name: str = "Ada") -> Message:
    await team.deliver(interested(name))
    return await team.card(name)


async def test_a_claimed_reply_shows_by_whom_on_the_same_card(team: Team) -> None:
    card = await posted(team)
    await team.click(card, "Claim")
    claimed = await team.card("Claimed by @ann")
    assert claimed.ts == card.ts
    assert "Claim" not in claimed.buttons
    assert "Release" in claimed.buttons


@pytest.mark.xfail(strict=True, reason="the title of a claimed reply is still that it is interested")
async def test_the_title_of_a_claimed_reply_says_by_whom(team: Team) -> None:
    card = await posted(team)
    await team.click(card, "Claim")
    assert "@ann" in (await team.card("Claimed by @ann")).title


async def test_who_claims_too_late_takes_nothing_from_a_colleague(team: Team) -> None:
    card = await posted(team)
    await team.click(card, "Claim", user="ann")
    await team.card("Claimed by @ann")
    await team.ask("claim Ada", user="ben")
    assert "Claimed by @ann" in (await team.card("Ada at Acme is interested")).shown


async def test_taking_a_reply_over_shows_the_new_person(team: Team) -> None:
    card = await posted(team)
    await team.click(card, "Claim", user="ann")
    await team.click(await team.card("Claimed by @ann"), "Take over", user="ben")
    await team.card("Claimed by @ben")


async def test_a_released_reply_can_be_claimed_again(team: Team) -> None:
    card = await posted(team)
    await team.click(card, "Claim")
    await team.card("Claimed by @ann")
    await team.ask("release Ada")

    async def free() -> bool:
        return "Claim" in (await team.card("Ada")).buttons

    assert await team.until(free)
    await team.click(await team.card("Ada"), "Claim", user="ben")
    await team.card("Claimed by @ben")


async def test_a_claimed_reply_is_not_reminded_of_as_unclaimed(team: Team) -> None:
    card = await posted(team)
    await team.click(card, "Claim")
    await team.card("Claimed by @ann")
    await posted(team, "Grace")
    await team.pass_time(minutes=6)

    async def reminded() -> list[Message]:
        found = await team.messages()
        return [one for one in found if one.data.get("thread_ts") and one.data["thread_ts"] != one.ts]

    threads = {one.data["thread_ts"] for one in await team.until(reminded)}
    assert card.ts not in threads


async def test_replies_lists_what_nobody_has_claimed(team: Team) -> None:
    card = await posted(team, "Ada")
    await posted(team, "Grace")
    await team.click(card, "Claim")
    await team.card("Claimed by @ann")
    open_ones = await team.ask("replies")
    assert "Grace" in open_ones.shown
    assert "Ada" not in open_ones.shown
    assert "Ada" in (await team.ask("replies mine")).shown


async def test_a_guest_can_claim_nothing(team: Team) -> None:
    card = await posted(team)
    await team.click(card, "Claim", user="gus")
    await team.deliver(interested("Grace"))
    await team.card("Grace")
    assert "Claim" in (await team.card("Ada")).buttons


async def test_a_done_reply_leaves_the_list(team: Team) -> None:
    await team.click(await posted(team), "Claim")
    await team.card("Claimed by @ann")
    await team.ask("done Ada")
    await team.card("Done by @ann")
    assert "Ada" not in (await team.ask("replies")).shown


@pytest.mark.xfail(strict=True, reason="`snooze NAME` is not a command yet")
async def test_a_reply_is_snoozed_by_name(team: Team) -> None:
    await posted(team)
    answer = await team.ask("snooze Ada 2h")
    assert "Unknown command" not in answer.shown
