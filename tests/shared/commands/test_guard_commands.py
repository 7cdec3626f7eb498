"""`guard`: rules are listed, added, tested, removed and switched; what acts by itself asks first, with its backtest."""

from __future__ import annotations

import pytest

from shared.commands import Role, UsageError, parse, render
from shared.domain.wall_clock import DAY
from shared.guardrails.sentence import EXAMPLE
from shared.records.guardrails import CountSample, Happening, Incident
from tests.shared.doubles import (
    NOW,
    CommandHarness,
    MemoryRecords,
    facts,
    open_harness,
    text,
)

ACTS = "pause sequence for 4h when bounces > 5% of at least 50 sends in 24h"
WHOLE = f"{ACTS}, at most 3 a day, at most 2 sequences at once"


@pytest.fixture
def harness() -> CommandHarness:
    return open_harness()


def records(harness: CommandHarness) -> MemoryRecords:
    assert harness.records is not None
    return harness.records


def crisis(harness: CommandHarness, *, days_ago: int = 3) -> None:
    """A day on which 10 of 100 mails of Q3 Founders bounced within an hour, and 200 more went out after it."""
    day = int(NOW.timestamp() // DAY) - days_ago
    guard = records(harness).guardrails
    for hour, sends in ((8, 0), (9, 100), (10, 100), (12, 200), (20, 300)):
        guard.counted.append(
            CountSample(scope="sequence", key="Q3 Founders", day=day, at=day * DAY + hour * 3600, sends=sends)
        )
    for n in range(10):
        happening = Happening(at=day * DAY + 9 * 3600 + n, kind="lead.bounced", sequence="Q3 Founders")
        guard.came.append(happening)


async def test_built_in_rules_are_listed_and_only_notify_or_suggest(harness: CommandHarness) -> None:
    card = await harness.say("guard")
    assert card.data is not None
    states = {one["name"]: one["state"] for one in card.data}
    assert states["bounces-5"] == "suggests"
    assert set(states.values()) == {"suggests", "notifies"}
    assert card.unchanged


async def test_a_rule_that_suggests_is_on_at_once_and_echoed(harness: CommandHarness) -> None:
    card = await harness.say("guard add suggest pausing domain when opt-outs > 1% in 7d as quiet")
    assert card.title == "Guardrail quiet is on"
    sentence = "suggest pausing domain when opt-outs > 1% of at least 50 sends in 7d, at most 5 a day"
    assert f"Rule: {sentence}." in card.text
    assert records(harness).guardrails.added["quiet"].sentence == sentence
    (entry,) = records(harness).entries
    assert entry.result == f"guardrail quiet: {sentence}"


async def test_a_rule_that_acts_shows_its_backtest_and_asks_first(harness: CommandHarness) -> None:
    crisis(harness)
    card = await harness.say(f'guard add "{ACTS}"')
    assert card.title == "Let bounces-5-2 pause without asking?"
    assert facts(card) == {"Sends": "100", "Bounces": "0"}
    assert not records(harness).guardrails.added
    again = await harness.answer(card)
    assert again.title == "Guardrail bounces-5-2 is on"
    assert records(harness).guardrails.added["bounces-5-2"].sentence == WHOLE


async def test_a_test_says_when_a_rule_would_have_fired_and_changes_nothing(harness: CommandHarness) -> None:
    crisis(harness)
    card = await harness.say(f"guard test {ACTS}")
    assert card.title == "bounces-5 would have fired once in the last 30 days"
    assert card.table is not None
    (row,) = card.table.rows
    assert row.cells[1:3] == ("Q3 Founders", "10 bounces in 100 sends (10.0%) in 24 h. Limit: 5%")
    assert facts(card)["Sends"] == "100"
    assert card.data is not None
    (firing,) = card.data
    assert (firing["sequence"], firing["sends_after"], firing["held_back"]) == ("Q3 Founders", 100, False)
    assert card.unchanged
    assert not records(harness).entries
    assert (await harness.say("guard test health-20")).title == "health-20 can't be tested yet"
    began = NOW.timestamp() - 31 * DAY
    records(harness).guardrails.counted.append(
        CountSample(scope="health", key="a@good.com", day=int(began // DAY), at=began, health=95.0)
    )
    assert (
        await harness.say("guard test health-20")
    ).title == "health-20 would not have fired in the last 30 days"


async def test_a_test_says_how_much_is_known(harness: CommandHarness) -> None:
    crisis(harness)
    guard = records(harness).guardrails
    guard.heard = NOW.timestamp() - 6 * 3600
    card = await harness.say(f"guard test {ACTS}")
    assert card.title == "bounces-5 would not have fired in the 6 h that are known"
    assert "too short a time to judge the rule by" in card.text[-1]
    assert card.footer == (
        "Bounces before 08:30 UTC are unknown: events are known from the first delivery on."
    )
    guard.heard = None
    card = await harness.say(f"guard test {ACTS}")
    assert card.title == "bounces-5 can't be tested yet"
    assert card.footer == ""


async def test_a_sentence_that_is_not_understood_says_where_and_gives_an_example() -> None:
    with pytest.raises(UsageError) as caught:
        parse("guard add pause sequence when bounced > 5%")
    assert "“bounced” isn't understood here. Write a metric" in str(caught.value)
    assert caught.value.card.facts[-1].value == f"guardrails add {EXAMPLE}"


async def test_a_rule_that_names_no_sequence_is_added_with_a_warning(harness: CommandHarness) -> None:
    line = 'guard add notify about sequence "{}" when bounces > 5% of at least 50 sends in 24h'
    card = await harness.say(line.format("Gone"))
    assert "Warning: no sequence is named “Gone”. The rule does nothing until there is one." in card.text
    assert len((await harness.say(line.format("q3 founders"))).text) == 2


async def test_adding_a_pausing_rule_needs_permission_to_pause(harness: CommandHarness) -> None:
    harness.role = Role.READER
    card = await harness.say(f'guard add "{ACTS}"')
    assert card.refused
    assert "permission to pause" in card.title
    assert not records(harness).guardrails.added


async def test_off_and_on_switch_all_rules_or_one(harness: CommandHarness) -> None:
    asked = await harness.say("guard off")
    assert [one.label for one in asked.buttons] == ["Turn all off"]
    assert not await records(harness).guardrails.switches("default"), "it only asked"
    assert (await harness.answer(asked)).title == "All guardrails of all outreach workspaces are off"
    card = await harness.say("guard list")
    assert "@ann turned all guardrails off at 14:30 UTC." in card.text
    assert all(fact.value.startswith("off: by @ann · ") for fact in card.facts)
    await harness.say("guard on")
    await harness.say("guard off bounces-5")
    card = await harness.say("guard list")
    assert [fact.label for fact in card.facts if fact.value.startswith("off: by @ann · ")] == ["bounces-5"]
    assert (await harness.say("guard on health-20")).unchanged
    assert [one.result for one in records(harness).entries][-1] == "guardrail bounces-5 is off"


async def test_the_list_shows_each_rule_as_a_whole_sentence_with_its_state(harness: CommandHarness) -> None:
    await harness.say("guard off bounces-5")
    card = await harness.say("guard list")
    assert card.data is not None
    by_label = {fact.label: fact.value for fact in card.facts}
    for one in card.data:
        state, rule = by_label[str(one["name"])].split(" · ")
        assert state == ("off: by @ann" if one["name"] == "bounces-5" else one["state"])
        assert str(one["rule"]).startswith(rule)


async def test_remove_takes_away_what_was_added_and_says_where_other_rules_are(
    harness: CommandHarness,
) -> None:
    await harness.say("guard add tell when health < 40 as low")
    assert (await harness.say("guard remove low")).title == "Guardrail low was removed"
    refused = await harness.say("guard remove bounces-5")
    assert refused.refused
    assert "guardrails off bounces-5" in text(refused)
    assert "No rule is named nonsense" in (await harness.say("guard remove nonsense")).title


async def test_a_name_that_is_taken_is_refused(harness: CommandHarness) -> None:
    await harness.say("guard add tell when health < 40 as low")
    assert (await harness.say("guard add tell when health < 30 as low")).refused
    replaced = await harness.say(
        "guard add tell when health < 30 as health-20"
    )  # what is shipped is replaced
    assert not replaced.refused


async def test_the_list_shows_the_last_firing(harness: CommandHarness) -> None:
    now = NOW.timestamp()
    guard = records(harness).guardrails
    day = int(now // DAY)
    guard.counted.append(CountSample(scope="sequence", key="Spring", day=day, at=now - 60, sends=500))
    guard.came += [Happening(at=now - n, kind="lead.bounced", sequence="Spring") for n in range(20)]
    guard.fired.append(
        Incident(
            id=1, workspace="default", rule="bounces-5", sentence="", action="suggest", subject="spring",
            label="Spring", began_at=now - 3600, held_at=now - 3600,
        )
    )  # fmt: skip
    card = await harness.say("guard")
    assert facts(card)["bounces-5"].endswith(" · fired 13:30 UTC")
    (row,) = [one for one in card.data or () if one["name"] == "bounces-5"]
    assert (row["closest"], row["nearness"]) == ("Spring", pytest.approx(0.8))


@pytest.mark.parametrize(
    "line",
    [
        "guard list",
        f'guard add "{ACTS}"',
        'guard add pause sequence "Q3 CTO" when bounces > 5% in 24h, except "A \\"B\\" C" as q3',
        f"guard test {ACTS}",
        "guard test bounces-5",
        "guard off",
        "guard on bounces-5",
    ],
)
def test_every_line_is_written_back(line: str) -> None:
    read = parse(line).arguments
    assert parse(render(read)).arguments == read
