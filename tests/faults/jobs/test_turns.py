"""Turns of a rota: one owner for each reply, who passes it on when nobody claims it, whatever dies in between."""

from __future__ import annotations

import json

from bot import cards
from bot.delivery import Routes
from bot.slack.directory import UserDirectory
from shared.domain.alert import Alert
from shared.records import Actor
from shared.settings.sections import AlertPolicy, Rota, Routing
from shared.store import Store
from shared.store.messages import Post
from tests.kit.bot import interested
from tests.kit.due import claim_repaints
from tests.kit.manual_clock import CHANNEL, MINUTE, NO_REMINDERS, ManualClock, arrive, look, post_all, sweep

ANN, BEN, CLEO = "U0ANN00001", "U0BEN00002", "U0CLEO0003"
NAMES = {ANN: "ann", BEN: "ben", CLEO: "cleo"}
GROUP = "S0SALESAES"
ROTA = Rota(people=(ANN, BEN, CLEO))


class Team(UserDirectory):
    """People with their names, some of whom aren't members any more."""

    def __init__(self, *gone: str) -> None:
        self.gone = gone

    def name(self, user: str) -> str:
        return NAMES[user]

    def is_gone(self, user: str) -> bool:
        return user in self.gone


def routing(rota: Rota = ROTA, **policy: object) -> Routing:
    return Routing(mention=GROUP, rota=rota).model_copy(update=policy)


def routes(rota: Rota = ROTA, people: UserDirectory | None = None, **policy: object) -> Routes:
    return Routes(
        alert_channels={"default": CHANNEL}, routing=routing(rota, **policy), people=people or Team()
    )


async def pass_on(
    store: Store, clock: ManualClock, rota: Rota = ROTA, people: UserDirectory | None = None, **policy: object
) -> list[Post]:
    """What a look at the turns that are over has posted."""
    await look(store, rules=NO_REMINDERS, routing=routing(rota, **policy), people=people or Team())
    return await post_all(store, clock)


async def owners(store: Store, clock: ManualClock, count: int, by: Routes, *, first: int = 1) -> list[str]:
    """Whom the cards of so many replies mention, one after the other."""
    for number in range(first, first + count):
        await arrive(store, interested(number), by=by)
    return [post.mention for post in await post_all(store, clock)]


def words(post: Post) -> str:
    """All that a post shows as it would be posted now."""
    message = cards.message([post], cards.CardSettings())
    return f"{message.text} {json.dumps(message.blocks, ensure_ascii=False)}"


async def alert_of(store: Store, post: Post) -> Alert:
    found = await store.alerts.find(post.alert_id)
    assert found
    return found


async def test_replies_go_by_turns_and_the_card_says_whose_it_is(store: Store, clock: ManualClock) -> None:
    assert await owners(store, clock, 4, routes()) == [ANN, BEN, CLEO, ANN]
    await arrive(store, interested(5), by=routes())
    (post,) = await post_all(store, clock)
    assert "@ben's turn" in words(post)
    assert words(post).count(f"<@{BEN}>") == 2, "in the text for notifications and on the card"
    assert GROUP not in words(post)


async def test_who_is_no_member_is_skipped_and_keeps_the_place(store: Store, clock: ManualClock) -> None:
    assert await owners(store, clock, 3, routes(people=Team(BEN))) == [ANN, CLEO, ANN]
    assert await owners(store, clock, 1, routes(), first=4) == [BEN]


async def test_an_unclaimed_reply_passes_to_the_next_then_to_the_group(
    store: Store, clock: ManualClock
) -> None:
    await arrive(store, interested(1), by=routes())
    (card,) = await post_all(store, clock)
    clock.now += 9 * MINUTE
    assert await pass_on(store, clock) == []
    clock.now += MINUTE
    (note,) = await pass_on(store, clock)
    assert (note.kind, note.mention) == ("turn", BEN)
    assert "@ben's turn: Ada 1 at Acme" in words(note)
    assert "@ann didn't claim it in 10 min." in words(note)
    clock.now += 10 * MINUTE
    (last,) = await pass_on(store, clock)
    assert last.mention == GROUP
    assert "Anyone's turn: Ada 1 at Acme" in words(last)
    clock.now += 60 * MINUTE
    assert await pass_on(store, clock) == []
    painted = {one.id: one for message in await claim_repaints(store, limit=10) for one in message}
    assert painted[card.id].mention == GROUP
    assert "nobody in the rota claimed it" in words(painted[card.id])
    before = words(painted[note.id])
    assert "<@" not in before, "it was somebody's turn"
    assert "nobody in the rota claimed it" in before


async def test_a_released_reply_is_the_turn_of_somebody_else_at_once(
    store: Store, clock: ManualClock
) -> None:
    await arrive(store, interested(1), by=routes())
    (card,) = await post_all(store, clock)
    await store.alerts.act(card.alert_id, "claim", Actor(name="ann", id=ANN))
    await store.alerts.act(card.alert_id, "release", Actor(name="ann", id=ANN))
    (note,) = await pass_on(store, clock)
    assert note.mention == BEN
    assert "It is unclaimed again." in words(note)


async def test_quiet_hours_mention_nobody_until_they_are_over(store: Store, clock: ManualClock) -> None:
    quiet = "08:00-10:00"
    await arrive(store, interested(1), by=routes(quiet=quiet))
    (card,) = await post_all(store, clock)
    assert card.mention == ""
    assert "@ann's turn" in words(card)
    clock.now += 30 * MINUTE
    assert await pass_on(store, clock, quiet=quiet) == []
    clock.now += 30 * MINUTE
    await sweep(store, clock, rules=AlertPolicy(remind_after=None, escalate_after=None))
    claim = await store.alerts.find(card.alert_id)
    assert claim
    assert claim.owner == ANN


async def test_who_leaves_has_no_turn_and_theirs_pass_on_at_once(store: Store, clock: ManualClock) -> None:
    assert await owners(store, clock, 1, routes()) == [ANN]
    ann = Actor(name="ann", id=ANN, face="slack")
    await store.turns.leave(ann, until=clock.now + 60 * MINUTE)
    (note,) = await pass_on(store, clock)
    assert note.mention == BEN
    assert await owners(store, clock, 2, routes(), first=2) == [CLEO, BEN]
    clock.now += 60 * MINUTE
    assert (await owners(store, clock, 2, routes(), first=4))[:2] == [CLEO, ANN]
    await store.turns.leave(ann, until=None)
    assert await store.turns.come_back(ANN)
    assert not await store.turns.come_back(ANN)
