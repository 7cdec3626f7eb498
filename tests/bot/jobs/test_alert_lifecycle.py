"""What alerts say over time, by a clock that the test holds."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.commands.alerts import alert_actions
from bot.delivery.routing import Routes
from bot.jobs.reminders import Reminders, times_of
from shared.api.events import Event
from shared.settings.sections import AlertPolicy, RouteRule, Routing
from shared.storage.database import parse_url
from shared.store import Store, open_store
from shared.store.jobs import REMIND
from shared.store.messages import PlannedPost
from tests.bot.harness import interested
from tests.bot.manual_clock import (
    ANN,
    CHANNEL,
    HOUR,
    MINUTE,
    ManualClock,
    arrive,
    post_all,
    routes,
    sweep,
)


async def test_two_processes_and_a_restart_say_a_thing_once(
    store: Store, clock: ManualClock, alert: str, tmp_path: Path
) -> None:
    clock.now += 6 * MINUTE
    async with open_store(parse_url(f"sqlite:///{tmp_path}/bot.db"), clock=clock) as other:
        posted = [*await sweep(store, clock), *await sweep(other, clock)]
    assert [post.alert_id for post in posted] == [alert]


def test_subscriptions_decide_the_form_and_rules_decide_the_mention() -> None:
    rule = RouteRule(channel=CHANNEL, events=("reply.interested",), condensed=True, mention="U0ANN")
    (target,) = routes(rules=(rule,)).targets(Event(kind="reply.interested"), "default", now=0.0)
    assert (target.channel, target.condensed, target.mention) == (CHANNEL, True, "U0ANN")


def test_without_an_alert_channel_alerts_go_to_the_fallback() -> None:
    lost = Routes(alert_channels={}, routing=Routing(fallback="C7"))
    assert [one.channel for one in lost.targets(Event(kind="domain.paused"), "w", now=0.0)] == ["C7"]
    assert not lost.targets(Event(kind="lead.bounced"), "w", now=0.0)


PAUSED = json.dumps(
    {"event": "domain.paused", "domain": "mail.example", "reason": "bounce_rate", "rate": 0.083}
).encode()


async def test_the_recovery_of_a_domain_ends_its_pause_and_has_a_message_of_its_own(
    store: Store, clock: ManualClock
) -> None:
    await arrive(store, PAUSED)
    (post,) = await post_all(store, clock)
    assert await store.alerts.paused_domains("default")
    recovery = PlannedPost(dedupe="well", channel="", kind="recovered")
    assert await store.alerts.update(post.alert_id, '{"stage": "recovered"}', note=recovery, recovered=True)
    assert [one.kind for one in await post_all(store, clock)] == ["recovered"]
    assert await store.alerts.paused_domains("default") == []


@pytest.mark.parametrize("text", ["yesterday", "0", "99999999999", "400d", "-5", ""])
def test_a_time_that_is_not_ahead_is_refused(text: str) -> None:
    assert alert_actions.snoozed_until(text, now=datetime(2026, 11, 20, 9, tzinfo=UTC), zone=UTC) is None


async def test_replies_that_no_channel_shows_yet_are_not_looked_at(store: Store, clock: ManualClock) -> None:
    await arrive(store, *(interested(number) for number in range(5)))
    clock.now += HOUR
    # A reminder belongs into the thread of a card, which isn't there yet.
    assert await store.jobs.waits([REMIND], []) == {}


async def test_a_reply_that_is_claimed_just_before_its_reminder_is_not_reminded_of(
    store: Store, clock: ManualClock
) -> None:
    await arrive(store, interested())
    (card,) = await post_all(store, clock)
    clock.now += HOUR
    claimed = await store.jobs.claim(REMIND, lease=10.0, limit=9, workspaces=[])
    # The reminder's job is taken already: the tap comes before its message is planned.
    await store.alerts.act(card.alert_id, "claim", ANN)
    await Reminders(store, AlertPolicy(), Routes(alert_channels={}), planned=lambda: None)(claimed, 0.0)
    assert await post_all(store, clock) == []


async def test_other_reminder_times_reach_the_alerts_that_are_open(store: Store, clock: ManualClock) -> None:
    await store.instance.id()
    await arrive(store, interested())
    await post_all(store, clock)
    # The settings change while the reply is open: its job has the time of before.
    for minutes in (30, 10, 10):
        rules = AlertPolicy(remind_after=timedelta(minutes=minutes))
        await store.alerts.note_times(times_of(rules))
        claimed = await store.jobs.claim(REMIND, lease=10.0, limit=9, workspaces=[])
        await Reminders(store, rules, Routes(alert_channels={}), planned=lambda: None)(claimed, 0.0)
    (wait,) = (await store.jobs.waits([REMIND], [])).values()
    assert wait <= 10 * MINUTE + 5.0
    assert not claimed, "the same times change nothing"
