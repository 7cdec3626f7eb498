"""Spikes of events: when they begin, their one card, and when they are over."""

from __future__ import annotations

import json

import pytest

from bot.alerts import rendering
from bot.alerts.spike import Figure, over_card, spike_card
from bot.jobs import spikes
from bot.store import Store
from bot.store.alerts.spikes import Subject, WholeDays
from bot.store.queue.outbox import PlannedPost
from shared.api.event_kinds import SPIKING
from shared.api.models import StatsRow
from shared.domain.alert_settings import SpikeRule
from shared.domain.evidence import Rate
from shared.domain.wall_clock import DAY
from tests.bot.manual_clock import (
    CHANNEL,
    HOUR,
    ManualClock,
    arrive,
    post_all,
)


def test_a_spike_needs_the_number_and_the_share() -> None:
    rule = SpikeRule(count=10, share=0.05)
    assert spikes.is_spike(10, share=Rate(part=10, sends=200), rule=rule)
    assert spikes.is_spike(10, share=None, rule=rule)
    assert not spikes.is_spike(10, share=Rate(part=8, sends=200), rule=rule)
    assert not spikes.is_spike(9, share=Rate(part=9, sends=10), rule=rule)


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (Rate(part=14, sends=150), "9.3% ± 5.7 (14 of 150 sends)"),
        (Rate(part=6, sends=40), "too few sends to tell (6 of 40)"),
        (None, "unknown: the number of sends isn't known"),
    ],
)
def test_the_card_of_a_spike_says_how_far_its_share_can_be_trusted(share: Rate | None, shown: str) -> None:
    figure = Figure(kind="lead.bounced", count=10, share=share)
    card = spike_card(Subject(scope="domain", name="mail.example"), [figure], rule=SpikeRule(), since=0.0)
    assert card.facts[1].value == shown


def test_sends_of_a_name_are_unknown_where_a_part_is() -> None:
    rows = [
        ("Q3", StatsRow(group="1", sends=7)),
        ("q3", StatsRow(group="2", sends=8)),
        ("Q4", StatsRow(group="3", sends=9)),
    ]
    assert spikes._summed("sequence", rows) == {("sequence", "q3"): 15, ("sequence", "q4"): 9}
    rows.append(("Q3", StatsRow(group="4", sends=None)))
    assert spikes._summed("sequence", rows) == {("sequence", "q4"): 9}


async def test_a_spike_has_one_card_that_counts_on_and_says_when_it_is_over(
    store: Store, clock: ManualClock
) -> None:
    domain = Subject(scope="domain", name="mail.example")
    for count in (10, 14, 14):
        figures = [Figure(kind=kind, count=count, share=Rate(part=count, sends=140)) for kind in SPIKING][
            : 1 if count == 10 else 2
        ]
        card = spike_card(domain, figures, rule=SpikeRule(), since=clock.now)
        planned = PlannedPost(dedupe="s:1", channel=CHANNEL, kind="spike", note=rendering.write_note(card))
        await store.spikes.show("default", domain, [one.kind for one in figures], planned)
    assert len(await post_all(store, clock)) == 1
    open_ = await store.spikes.tallies("default", since=clock.now - HOUR)
    assert open_.kinds("s:1") == list(SPIKING), "opt-outs joined the card of the bounces"
    over = over_card(domain, open_.kinds("s:1"), since=clock.now, now=clock.now + HOUR)
    assert await store.spikes.end("default", domain, "s:1", rendering.write_note(over))
    ((message,),) = await store.repaints.claim(limit=5)
    assert rendering.card_of(message, several=False).title == "Bounce and opt-out spike ended: mail.example"


async def test_a_spike_that_another_process_shows_already_gets_no_second_card(
    store: Store, clock: ManualClock
) -> None:
    domain = Subject(scope="domain", name="mail.example")
    for kind, dedupe in (("lead.bounced", "s:1"), ("lead.unsubscribed", "s:2")):
        card = spike_card(
            domain,
            [Figure(kind=kind, count=10, share=Rate(part=10, sends=100))],
            rule=SpikeRule(),
            since=clock.now,
        )
        planned = PlannedPost(dedupe=dedupe, channel=CHANNEL, kind="spike", note=rendering.write_note(card))
        await store.spikes.show("default", domain, [kind], planned)
    assert len(await post_all(store, clock)) == 1


async def test_deliveries_are_counted_by_domain_and_by_sequence_without_anybodys_words(
    store: Store, clock: ManualClock
) -> None:
    bounces = [
        json.dumps(
            {
                "event": "lead.bounced",
                "lead": {"email": f"x{n}@a.example"},
                "sequence": "Q3",
                "inbox": "s@mail.example",
                "bounce_type": "hard",
            }
        ).encode()
        for n in range(3)
    ]
    await arrive(store, *bounces)
    found = await store.spikes.tallies("default", since=clock.now - HOUR)
    assert {(one.scope, one.name, count) for (_, one), count in found.recent.items()} == {
        ("domain", "mail.example", 3),
        ("sequence", "Q3", 3),
    }
    counts, names = await store.subjects.domain_events("default", "mail.example", since=0)
    assert (counts["hard"], list(names)) == (3, ["Q3"])


async def test_a_share_is_of_days_of_which_every_bounce_is_known(store: Store, clock: ManualClock) -> None:
    """Sends from before the first delivery would hide a spike."""

    def bounce(number: int) -> bytes:
        lead = {"email": f"x{number}@a.example"}
        return json.dumps({"event": "lead.bounced", "lead": lead, "inbox": "s@mail.example"}).encode()

    midnight = clock.now - clock.now % DAY
    clock.now = midnight + 8 * HOUR
    await arrive(store, bounce(0))
    assert await store.spikes.whole_days("default") == WholeDays(since=midnight + DAY)
    clock.now = midnight + DAY + 8 * HOUR
    await arrive(store, bounce(1))
    found = await store.spikes.whole_days("default")
    assert (found.since, [*found.counts.values()]) == (midnight + DAY, [1])
    clock.now = midnight + 4 * DAY
    assert (await store.spikes.whole_days("default")).since == midnight + 3 * DAY
