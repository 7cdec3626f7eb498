"""Interested leads whose delivery never came: found at the start and every 15 minutes, and told once."""

from __future__ import annotations

from typing import Any

from tests.kit import Message, Team, interested

ADA: dict[str, Any] = {
    "id": "ld_adaadaada",
    "email": "ada@acme.example",
    "first_name": "Ada",
    "company": "Acme",
    "status": "interested",
}


OLGA = {**ADA, "id": "ld_benbenben", "email": "old@acme.example", "first_name": "Olga"}
"""Interested before the bot came."""
TIMED = "outreach_delivery_to_post_seconds_count"
"""The metric that counts posts whose time is known."""


async def begin(team: Team) -> None:
    """A bot that has seen the leads that are there from the start."""
    await team.stop()
    team.use_new_database()
    listed(team, OLGA)
    before = looks(team)
    await team.start()
    await team.until(lambda: looks(team) > before, "the first look at the leads")
    await team.settled()


def listed(team: Team, *leads: dict[str, Any]) -> None:
    """Have the service list these leads from now on."""
    team.account.forget_answers()
    team.account.answer("GET /leads", {"data": list(leads), "next_cursor": None})


def looks(team: Team) -> int:
    return len(team.account.asked("GET", "/leads"))


async def a_quarter_later(team: Team) -> None:
    """The next look, and what it leads to."""
    before = looks(team)

    async def looked() -> bool:
        await team.pass_time(minutes=16)
        return looks(team) > before

    await team.until(looked, "the next look at the leads")
    await team.settled()


async def found(team: Team) -> Message:
    """The card of the lead, some looks later."""

    async def there() -> Message | None:
        await a_quarter_later(team)
        return next(iter(await told(team)), None)

    card: Message = await team.until(there, "the card of Ada")
    return card


async def told(team: Team) -> list[Message]:
    return [one for one in await team.messages() if one.alert_id and "Ada" in one.shown]


async def test_an_interested_lead_whose_delivery_never_came_is_told_once(team: Team) -> None:
    await begin(team)
    timed = await team.metrics(TIMED)
    listed(team, ADA, OLGA)
    card = await found(team)
    assert "Claim" in card.buttons
    assert await team.metrics(TIMED) == timed, "nobody knows how long its delivery has been under way"
    assert 'kind="found late"' in (await team.get("/metrics"))[1]
    for _ in range(2):
        await a_quarter_later(team)
    assert [one.ts for one in await told(team)] == [card.ts]
    assert not any("Olga" in one.shown for one in await team.messages()), "she was known"


async def test_what_came_while_the_bot_was_stopped_is_found_at_the_start(team: Team) -> None:
    await begin(team)
    await team.stop()
    listed(team, ADA, OLGA)
    await team.pass_time(hours=3)
    await team.start()
    assert "Ada at Acme" in (await team.card("Ada at Acme")).title


async def test_a_lead_whose_delivery_came_is_not_told_again(team: Team) -> None:
    await begin(team)
    timed = sum(await team.metrics(TIMED))
    await team.deliver(interested("Ada"))
    await team.card("Ada at Acme")
    await team.settled()
    assert sum(await team.metrics(TIMED)) == timed + 1
    listed(team, ADA, OLGA)
    for _ in range(2):
        await a_quarter_later(team)
    assert len(await told(team)) == 1


async def test_a_delivery_that_comes_late_is_on_the_card_of_the_lead_that_was_found(team: Team) -> None:
    await begin(team)
    listed(team, ADA, OLGA)
    card = await found(team)
    await team.deliver(interested("Ada", reply="Yes, on Monday."))
    assert (await team.changed(card, "Yes, on Monday.")).ts == card.ts
    assert len(await told(team)) == 1
