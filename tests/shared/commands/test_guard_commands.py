"""`guardrails`: what a backtest says, and what adding and removing a rule answers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from shared.commands import run
from shared.domain.wall_clock import DAY
from shared.records.guardrails import CountSample
from tests.shared.harness import NOW, CommandHarness, text

ACTS = "pause sequence for 4h when bounces > 5% of at least 50 sends in 24h"


async def crisis(harness: CommandHarness, *, known_from: timedelta = timedelta(days=40)) -> None:
    """A day on which 10 of 100 mails of Q3 Founders bounced within an hour, and 200 more went out after it."""
    day = int(NOW.timestamp() // DAY) - 3
    # The service counts a day so far: the sends of an hour are the difference of two readings.
    counted = [
        CountSample(scope="sequence", key="Q3 Founders", day=day, at=day * DAY + hour * 3600, sends=sends)
        for hour, sends in ((8, 0), (9, 100), (10, 100), (12, 200), (20, 300))
    ]
    await harness.store.guardrails.keep("default", counted)
    await harness.deliver("sequence.completed", "first@x.com", ago=known_from)
    if known_from > timedelta(days=3):
        at = datetime.fromtimestamp(day * DAY + 9 * 3600, UTC)
        bounced = (f"b{n}@x.com" for n in range(10))
        await harness.deliver("lead.bounced", *bounced, ago=NOW - at, sequence="Q3 Founders")


@pytest.fixture(autouse=True)
def without_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is no silence of the service: what asks it nothing is never cut off."""
    monkeypatch.setattr(run, "SILENCE_SECONDS", 0.0)


async def test_a_rule_that_suggests_is_on_at_once_and_echoed(harness: CommandHarness) -> None:
    card = await harness.say("guard add suggest pausing domain when opt-outs > 1% in 7d as quiet")
    assert card.title == "Guardrail quiet is on"
    sentence = "suggest pausing domain when opt-outs > 1% of at least 50 sends in 7d, at most 5 a day"
    assert f"Rule: {sentence}." in card.text
    (entry,) = await harness.entries()
    assert entry.result == f"guardrail quiet: {sentence}"
    states = {one["name"]: one["state"] for one in (await harness.say("guard")).data}
    assert states["bounces-5"] == "suggests"
    assert set(states.values()) == {"suggests", "notifies"}, "what is shipped pauses nothing"


async def test_a_test_says_when_a_rule_would_have_fired_and_changes_nothing(harness: CommandHarness) -> None:
    await crisis(harness)
    card = await harness.say(f"guard test {ACTS}")
    assert card.title == "bounces-5 would have fired once in the last 30 days"
    assert card.table is not None
    (row,) = card.table.rows
    assert row.cells[1:3] == ("Q3 Founders", "10 bounces in 100 sends (10.0%) in 24 h. Limit: 5%")
    assert "Pausing each time would have prevented 100 sends with 0 bounces." in card.text
    (firing,) = card.data
    assert (firing["sequence"], firing["sends_after"]) == ("Q3 Founders", 100)
    assert card.unchanged
    assert not await harness.entries()
    # No score is stored yet, and a rule that stayed quiet for want of data would look harmless.
    assert (await harness.say("guard test health-20")).title == "health-20 can't be tested yet"
    began = NOW.timestamp() - 31 * DAY
    sample = CountSample(scope="health", key="a@good.com", day=int(began // DAY), at=began, health=95.0)
    await harness.store.guardrails.keep("default", [sample])
    tested = await harness.say("guard test health-20")
    assert tested.title == "health-20 would not have fired in the last 30 days"


async def test_a_test_says_how_much_is_known(harness: CommandHarness) -> None:
    assert (await harness.say(f"guard test {ACTS}")).title == "bounces-5 can't be tested yet"
    await crisis(harness, known_from=timedelta(hours=6))
    card = await harness.say(f"guard test {ACTS}")
    assert card.title == "bounces-5 would not have fired in the 6 h that are known"
    assert card.footer == "Nothing is known of bounces before 08:30 UTC."


async def test_a_taken_name_is_refused_and_a_shipped_rule_is_replaced_but_not_removed(
    harness: CommandHarness,
) -> None:
    await harness.say("guard add tell when health < 40 as low")
    assert (await harness.say("guard add tell when health < 30 as low")).refused
    assert not (await harness.say("guard add tell when health < 30 as health-20")).refused
    assert (await harness.say("guard on health-20")).unchanged
    refused = await harness.say("guard remove bounces-5")
    assert refused.refused
    assert "guardrails off bounces-5" in text(refused)
    assert "No rule is named nonsense" in (await harness.say("guard remove nonsense")).title
