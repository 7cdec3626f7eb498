"""What people chose for themselves, in everything that mentions them or is sent to them."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from bot.alerts import rendering
from bot.store import Store
from bot.store.db.schema import people, posts
from bot.store.queue.outbox import PlannedPost
from bot.store.queue.posts import Post
from shared.domain.alert_settings import AlertPolicy
from shared.domain.personal import DEFAULTS, Notify, PersonalSettings
from shared.records.audit import Actor
from tests.bot.harness import interested
from tests.bot.manual_clock import CHANNEL, HOUR, MINUTE, ManualClock, arrive, post_all, routes, sweep

BEN, DM = "U0BEN00001", "D0BEN00001"
BEN_ACTOR = Actor(name="ben", id=BEN, face="slack")
NIGHT = PersonalSettings(quiet="08:00-11:00", zone="UTC")
"""The clock of these tests begins at nine."""


async def news(store: Store, clock: ManualClock) -> dict[str, Post]:
    """An interested reply for Ben, as it is posted, by channel."""
    await arrive(store, interested(), by=routes(mention=BEN))
    return {post.channel: post for post in await post_all(store, clock)}


def text(post: Post) -> str:
    return rendering.message([post], several=False).text


@pytest.mark.parametrize(
    ("notify", "channels"),
    [("mention", {CHANNEL}), ("message", {CHANNEL, DM}), ("nothing", {CHANNEL})],
)
async def test_an_alert_mentions_a_person_or_messages_them_as_they_chose(
    store: Store, clock: ManualClock, notify: Notify, channels: set[str]
) -> None:
    await store.people.choose(BEN, PersonalSettings(notify=notify), channel=DM)
    posted = await news(store, clock)
    assert posted.keys() == channels
    assert text(posted[CHANNEL]).startswith(f"<@{BEN}>") is (notify == "mention")
    if DM in posted:
        assert "is interested" in text(posted[DM])
        assert f"<@{BEN}>" not in text(posted[DM])


async def test_without_a_choice_a_person_is_mentioned(store: Store, clock: ManualClock) -> None:
    posted = await news(store, clock)
    assert text(posted[CHANNEL]).startswith(f"<@{BEN}>")
    assert await store.people.find(BEN) == DEFAULTS


async def test_quiet_hours_leave_mentions_out_and_hold_direct_messages(
    store: Store, clock: ManualClock
) -> None:
    await store.people.choose(BEN, replace(NIGHT, notify="message"), channel=DM)
    await arrive(store, interested(), by=routes(mention=BEN))
    (card,) = (await store.leases.claim(limit=16)).turns
    assert [post.channel for post in card.posts] == [CHANNEL]
    assert card.posts[0].hushed == {BEN}
    held = sa.select(posts.c.channel, posts.c.held_until).where(posts.c.state == "held")
    rows = await store.database.read(lambda tx: tx.execute(held).all())
    assert [tuple(row) for row in rows] == [(DM, datetime(2026, 11, 20, 11, tzinfo=UTC).timestamp())]


async def test_a_mention_is_left_out_in_quiet_hours_and_made_outside(
    store: Store, clock: ManualClock
) -> None:
    await store.people.choose(BEN, NIGHT, channel=DM)
    assert f"<@{BEN}>" not in text((await news(store, clock))[CHANNEL])
    clock.now += 3 * HOUR
    body = interested(email="zoe@acme.example")
    await arrive(store, body, by=routes(mention=BEN), number=2)
    (later,) = await post_all(store, clock)
    assert text(later).startswith(f"<@{BEN}>")


async def test_a_direct_message_asks_for_nothing_once_the_reply_is_claimed(
    store: Store, clock: ManualClock
) -> None:
    await store.people.choose(BEN, PersonalSettings(notify="message"), channel=DM)
    direct = (await news(store, clock))[DM]
    await store.alerts.claim(direct.alert_id, BEN_ACTOR)
    repainted = {one[0].channel: one[0] for one in await store.repaints.claim(limit=10)}
    card = rendering.card_of(repainted[DM], several=False)
    assert card.text == ("✓ Claimed by @ben.",)
    assert card.buttons == ()


async def test_a_reminder_of_ones_own_claim_waits_for_quiet_hours_to_end(
    store: Store, clock: ManualClock
) -> None:
    (alert,) = {post.alert_id for post in (await news(store, clock)).values()}
    await store.alerts.claim(alert, BEN_ACTOR)
    await store.people.choose(BEN, PersonalSettings(quiet="12:00-15:00", zone="UTC"), channel=DM)
    clock.now += 4 * HOUR + MINUTE
    rules = AlertPolicy(remind_after=None, escalate_after=None, unfinished_after=timedelta(hours=4))
    assert await sweep(store, clock, rules=rules) == []
    clock.now += 2 * HOUR
    (reminder,) = await sweep(store, clock, rules=rules)
    assert reminder.kind == "unfinished"
    assert f"<@{BEN}>" in text(reminder)


async def test_the_own_digest_comes_once_at_its_time_in_the_direct_messages(
    store: Store, clock: ManualClock
) -> None:
    await store.people.choose(BEN, PersonalSettings(digest="weekdays 10:00 UTC"), channel=DM)
    assert await store.people.due_digests() == []
    clock.now += HOUR
    (due,) = await store.people.due_digests()
    assert (due.person, due.channel) == (BEN, DM)
    note = _note()
    assert [await store.people.give(due, {"default": note}) for _ in range(2)] == [True, False]
    (digest,) = await post_all(store, clock)
    assert (digest.kind, digest.channel) == ("digest", DM)
    row = await store.database.read(lambda tx: tx.execute(sa.select(people.c.due_at)).scalar_one())
    assert row == datetime(2026, 11, 23, 10, tzinfo=UTC).timestamp()  # Monday


async def test_a_digest_that_is_too_late_is_left_out(store: Store, clock: ManualClock) -> None:
    await store.people.choose(BEN, PersonalSettings(digest="10:00 UTC"), channel=DM)
    clock.now += 10 * HOUR
    (due,) = await store.people.due_digests()
    assert not await store.people.give(due, {"default": _note()})
    assert await store.people.due_digests() == []


async def test_choices_can_be_erased_and_follow_the_direct_messages(store: Store) -> None:
    await store.people.choose(BEN, PersonalSettings(notify="nothing"))
    channel = sa.select(people.c.channel)
    assert await store.database.read(lambda tx: tx.execute(channel).scalar_one()) == BEN
    await store.people.meet(BEN, DM)
    assert await store.database.read(lambda tx: tx.execute(channel).scalar_one()) == DM
    assert await store.people.forget(BEN)
    assert not await store.people.forget(BEN)
    assert await store.people.find(BEN) == DEFAULTS


async def test_each_of_several_people_is_called_as_they_chose(store: Store, clock: ManualClock) -> None:
    await store.people.choose(BEN, PersonalSettings(notify="message"), channel=DM)
    await store.people.choose("U0CLEO0001", PersonalSettings(notify="nothing"))
    note = PlannedPost(
        dedupe="n1", channel=CHANNEL, kind="note", note=_note(), mention=f"U0ANN00001 {BEN} U0CLEO0001"
    )
    await store.outbox.plan("default", note)
    posted = {post.channel: post for post in await post_all(store, clock)}
    assert posted.keys() == {CHANNEL, DM}
    assert text(posted[CHANNEL]).startswith("<@U0ANN00001> ")
    assert text(posted[CHANNEL]).count("<@") == 1
    assert "<@" not in text(posted[DM])


def _note() -> str:
    return json.dumps({"title": "1 claim of yours not done", "tone": "info", "text": []})
