"""What alerts say over time, by a clock that the test holds."""

from __future__ import annotations

import json
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

import pytest

from bot.alerts import rendering
from bot.alerts.reminders import Reminders, times_of
from bot.alerts.routing import Routes
from bot.commands.alerts import alert_actions
from shared.domain.card import Card, Tone
from shared.domain.quiet_hours import QuietHours
from shared.domain.wall_clock import Recurrence, parse_recurrence
from shared.settings.sections import AlertPolicy, RouteRule, Routing
from shared.storage.database import parse_url
from shared.store import Store, open_store
from shared.store.jobs import DIGEST, REMIND, Job
from shared.store.messages import PlannedPost
from shared.store.subscriptions import DueDigest
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
    shown,
    sweep,
)


async def test_two_processes_and_a_restart_say_a_thing_once(
    store: Store, clock: ManualClock, alert: str, tmp_path: Path
) -> None:
    clock.now += 6 * MINUTE
    async with open_store(parse_url(f"sqlite:///{tmp_path}/bot.db"), clock=clock) as other:
        posted = [*await sweep(store, clock), *await sweep(other, clock)]
    assert [post.alert_id for post in posted] == [alert]


async def test_quiet_hours_hold_non_urgent_alerts_and_mention_no_one(
    store: Store, clock: ManualClock
) -> None:
    night = routes(
        quiet="20:00-08:00",
        mention="here",
        rules=(RouteRule(channel=CHANNEL, events=("lead.bounced",), condensed=True),),
    )
    clock.now += 13 * HOUR
    bounce = json.dumps({"event": "lead.bounced", "inbox": "sam@mail.example"}).encode()
    await arrive(store, interested(1), bounce, by=night)
    (message,) = await post_all(store, clock)
    assert (message.kind, message.mention) == ("alert", "")
    assert await sweep(store, clock) == []
    clock.now += 10 * HOUR
    late = await sweep(store, clock, rules=AlertPolicy(remind_after=None, escalate_after=None))
    assert [(post.kind, post.condensed) for post in late] == [("alert", True)]


@pytest.mark.parametrize(
    ("wall_time", "ends"),
    [("19:59", None), ("20:00", "08:00"), ("23:59", "08:00"), ("07:59", "08:00"), ("08:00", None)],
)
def test_quiet_hours_go_over_midnight_in_their_own_zone(wall_time: str, ends: str | None) -> None:
    quiet = QuietHours(start=time(20), end=time(8), zone="Europe/Berlin")
    berlin = datetime.fromisoformat(f"2026-11-20T{wall_time}:00+01:00")
    found = quiet.ends_after(berlin.astimezone(UTC))
    assert (found and f"{found.astimezone(berlin.tzinfo):%H:%M}") == ends


def test_subscriptions_decide_the_form_and_rules_decide_the_mention() -> None:
    rule = RouteRule(channel=CHANNEL, events=("reply.interested",), condensed=True, mention="U0ANN")
    from shared.api.events import Event

    (target,) = routes(rules=(rule,)).targets(Event(kind="reply.interested"), workspace="default")
    assert (target.channel, target.condensed, target.mention) == (CHANNEL, True, "U0ANN")


def test_without_an_alert_channel_alerts_go_to_the_fallback() -> None:
    from shared.api.events import Event

    lost = Routes(alert_channels={}, routing=Routing(fallback="C7"))
    assert [one.channel for one in lost.targets(Event(kind="domain.paused"), workspace="w")] == ["C7"]
    assert not lost.targets(Event(kind="lead.bounced"), workspace="w")


PAUSED = json.dumps(
    {"event": "domain.paused", "domain": "mail.example", "reason": "bounce_rate", "rate": 0.083}
).encode()


async def test_a_recovered_domain_turns_green_and_its_thread_is_notified(
    store: Store, clock: ManualClock
) -> None:
    await arrive(store, PAUSED)
    (post,) = await post_all(store, clock)
    assert await store.alerts.paused_domains("default")
    rows = [
        {"address": "sam@mail.example", "health": 62, "health_before": 91, "limit": 30, "status": "resting"}
    ]
    counts = {"lead.bounced": 31, "hard": 28}
    standing = json.dumps({"inboxes": rows, "counts": counts, "sequences": ["Q3 founders"]})
    assert await store.alerts.update(post.alert_id, standing)
    red = await shown(store)
    title = "mail.example is paused: bounce rate 8.3%"
    assert (red.title, red.tone) == (title, Tone.BAD)
    assert red.text[0] == "1 inbox resting, lowest health 62 · Q3 founders"
    assert "verify the addresses" in red.text[1]
    clock.now += 3 * 24 * HOUR
    well = {"stage": "recovered", "inboxes": [{**rows[0], "status": "active", "health": 90}]}
    recovery = PlannedPost(dedupe="well", channel="", kind="recovered")
    assert await store.alerts.update(post.alert_id, json.dumps(well), note=recovery, recovered=True)
    green = await shown(store)
    assert (green.title, green.tone) == ("mail.example has recovered", Tone.GOOD)
    assert [recovery.kind for recovery in await post_all(store, clock)] == ["recovered"]
    assert await store.alerts.paused_domains("default") == []


@pytest.mark.parametrize("text", ["yesterday", "0", "99999999999", "400d", "-5", ""])
def test_a_time_that_is_not_ahead_is_refused(text: str) -> None:
    assert alert_actions.snoozed_until(text, now=datetime(2026, 11, 20, 9, tzinfo=UTC), zone=UTC) is None


def test_a_rhythm_is_due_by_the_clock_of_its_zone_on_its_day() -> None:
    recurrence = parse_recurrence(["mondays", "at", "09:00", "Europe/Berlin"])
    assert isinstance(recurrence, Recurrence)
    assert str(recurrence) == "mondays 09:00 Europe/Berlin"
    before = recurrence.last_before(datetime(2026, 11, 23, 7, 59, tzinfo=UTC))
    assert before == datetime(2026, 11, 16, 8, tzinfo=UTC)
    assert recurrence.last_before(datetime(2026, 7, 6, 7, tzinfo=UTC)) == datetime(2026, 7, 6, 7, tzinfo=UTC)
    assert recurrence.next_after(datetime(2026, 7, 6, 7, tzinfo=UTC)) == datetime(2026, 7, 13, 7, tzinfo=UTC)


async def digests_due(store: Store) -> list[tuple[Job, DueDigest]]:
    claimed = await store.jobs.claim(DIGEST, lease=10.0, limit=9, workspaces=["default"])
    return [(job, due) for job in claimed if (due := await store.digests.due(job))]


async def test_a_digest_is_given_once_at_its_time_and_not_for_what_is_long_past(
    store: Store, clock: ManualClock
) -> None:
    await store.records.set_digest("default", CHANNEL, "10:00")
    await store.records.set_digest("default", CHANNEL, "mondays 08:00")
    assert await store.records.digest_at("default", CHANNEL) == "10:00 and mondays 08:00"
    assert await digests_due(store) == []
    clock.now += HOUR
    ((job, due),) = await digests_due(store)
    note = rendering.write_note(Card(title="Digest"))
    assert [await store.digests.give(job, due, note) for _ in range(2)] == [True, False]
    assert [post.kind for post in await post_all(store, clock)] == ["digest"]
    clock.now += 47 * HOUR
    assert await digests_due(store) == []


async def test_replies_that_no_channel_shows_yet_are_not_looked_at(store: Store, clock: ManualClock) -> None:
    await arrive(store, *(interested(number) for number in range(5)))
    clock.now += HOUR
    assert await store.jobs.waits([REMIND], []) == {}


async def test_a_reply_that_is_claimed_just_before_its_reminder_is_not_reminded_of(
    store: Store, clock: ManualClock
) -> None:
    await arrive(store, interested())
    (card,) = await post_all(store, clock)
    clock.now += HOUR
    claimed = await store.jobs.claim(REMIND, lease=10.0, limit=9, workspaces=[])
    await store.alerts.act(card.alert_id, "claim", ANN)
    await Reminders(store, AlertPolicy(), Routes(alert_channels={}), planned=lambda: None)(claimed, 0.0)
    assert await post_all(store, clock) == []


async def test_other_reminder_times_reach_the_alerts_that_are_open(store: Store, clock: ManualClock) -> None:
    await store.instance.id()
    await arrive(store, interested())
    await post_all(store, clock)
    for minutes in (30, 10, 10):
        rules = AlertPolicy(remind_after=timedelta(minutes=minutes))
        await store.alerts.note_times(times_of(rules))
        claimed = await store.jobs.claim(REMIND, lease=10.0, limit=9, workspaces=[])
        await Reminders(store, rules, Routes(alert_channels={}), planned=lambda: None)(claimed, 0.0)
    (wait,) = (await store.jobs.waits([REMIND], [])).values()
    assert wait <= 10 * MINUTE + 5.0
    assert not claimed, "the same times change nothing"
