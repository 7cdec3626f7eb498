"""Time to claim by person; many sequences at once in a shell; who paused what, why and until when."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from shared.commands import parse
from shared.commands.run import run
from shared.commands.running.digest_card import digest_card
from shared.domain.card import Card
from tests.shared.doubles import NOW, CommandHarness, MemoryRecords, facts, said
from tests.shared.waits import Claim


def records(harness: CommandHarness) -> MemoryRecords:
    assert harness.records is not None
    return harness.records


def rows(card: Card) -> list[tuple[object, ...]]:
    return [row.cells for row in card.table.rows] if card.table else []


def claim(name: str, minutes: float, *, ago: timedelta = timedelta(minutes=1)) -> Claim:
    return Claim(name=name, sequence="Spring", waited=timedelta(minutes=minutes), at=NOW - ago)


async def test_stats_by_person_tell_median_slow_end_share_in_time_and_what_was_done(
    harness: CommandHarness,
) -> None:
    records(harness).claims = [claim("ann", minutes) for minutes in (1, 2, 3, 4, 40)] + [claim("ben", 9)]
    records(harness).claims.append(claim("cat", 1, ago=timedelta(days=9)))
    records(harness).done = [("ann", NOW), ("ann", NOW), ("dan", NOW)]
    card = await harness.say("stats by person today")
    assert rows(card) == [
        ("@ann", 5, "3 min", "40 min", "80.0%", 2),
        ("@ben", 1, "9 min", "9 min", "0.0%", 0),
        ("@dan", 0, "–", "–", "–", 1),
        ("All", 6, "4 min", "40 min", "66.7%", 3),
    ]
    (chart,) = card.charts
    assert chart.labels == ("ann", "ben")
    assert chart.series[0] == ("Median", (3.0, 9.0))
    assert card.data is not None
    assert card.data[0] == {
        "person": "ann",
        "claims": 5,
        "median_seconds": 180.0,
        "p90_seconds": 2400.0,
        "within_5_minutes": 0.8,
        "done": 2,
    }


async def test_the_digest_of_today_has_who_claimed_how_fast(harness: CommandHarness) -> None:
    records(harness).claims = [claim("ann", 2)]
    records(harness).done = [("ann", NOW)]
    card = await harness.say("digest today")
    assert card.title == "Digest, today so far"
    assert rows(card) == [("@ann", 1, "2 min", "2 min", "100.0%", 1)]
    assert card.text[0] == "Today isn't over, so it isn't compared."
    assert rows(await digest_card(harness.context)) == []


async def test_pausing_all_asks_with_what_it_touches_and_does_it_after_a_yes(harness: CommandHarness) -> None:
    active = [one["id"] for one in harness.service.sequences if one["status"] == "active"]
    question = await harness.say("pause all for 2h reason moving house")
    assert question.question
    assert question.table is not None
    assert question.table.total == len(active)
    assert [one["id"] for one in harness.service.sequences if one["status"] == "active"] == active
    done = await harness.answer(question)
    assert "paused until 16:30 UTC" in done.title
    assert not [one for one in harness.service.sequences if one["status"] == "active"]
    assert {key for _, key in records(harness).planned} == set(active)
    assert all(name in records(harness).entries[-1].result for name in active)


async def test_pausing_a_domain_takes_the_sequences_that_were_seen_there(harness: CommandHarness) -> None:
    name = next(one["name"] for one in harness.service.sequences if one["status"] == "active")
    records(harness).senders = {"acme.com": [name]}
    card = await harness.answer(await harness.say("pause domain:acme.com"))
    assert card.title == f"{name} is paused"
    again = await harness.say("pause domain:acme.com")
    assert again.title == "No active sequence is known to send from acme.com"
    assert again.table is None
    unknown = await harness.say("pause domain:good.com")
    assert unknown.question
    assert unknown.question.is_open
    assert "`pause all`" in unknown.text[-1]


async def test_paused_sequences_show_who_why_and_until_when(harness: CommandHarness) -> None:
    for one in harness.service.sequences:
        one["status"] = "active"
    first, second = (one["id"] for one in harness.service.sequences[:2])
    await harness.say(f"pause {first} until 2026-03-16 08:00 reason list is bad")
    await harness.say(f"pause {second} reason because of a holiday")
    card = await harness.say("sequences paused")
    found = {row[-1]: row[1:4] for row in rows(card)}
    assert found[first] == ("@ann", "16 Mar 08:00 UTC", "list is bad")
    assert found[second] == ("@ann", None, "because of a holiday")
    by_id = {one["id"]: one for one in card.data or ()}
    assert by_id[first]["paused_by"] == "ann"
    assert by_id[first]["paused_until"] == "2026-03-16T08:00:00+00:00"


async def test_a_pause_until_a_day_that_has_passed_changes_nothing(harness: CommandHarness) -> None:
    card = await harness.say("pause sq_1 until 2020-01-01")
    assert card.refused
    assert "has passed" in card.title


async def test_a_pause_until_a_leap_day_names_the_nearest_dates(harness: CommandHarness) -> None:
    card = await harness.say("pause sq_1 until 29 feb")
    assert card.refused
    assert card.title == "2027 has no 29 February"
    assert card.text == ("Nothing was paused.", "Use `until 2027-02-28` or `until 2027-03-01`.")


async def test_pausing_all_until_a_day_that_has_passed_changes_nothing(harness: CommandHarness) -> None:
    for one in harness.service.sequences:
        one["status"] = "active"
    card = await harness.say("pause all until 2020-01-01")
    assert "has passed" in card.title
    assert {one["status"] for one in harness.service.sequences} == {"active"}


async def test_status_counts_unclaimed_replies(harness: CommandHarness) -> None:
    waiting = replace(records(harness).alerts, unclaimed=3, oldest_unclaimed_at=NOW - timedelta(minutes=12))
    records(harness).alerts = waiting
    card = await harness.say("status")
    assert facts(card)["Unclaimed replies"] == "3, the oldest for 12 min"
    assert card.data is not None
    assert card.data[0]["unclaimed_replies"] == 3


async def test_pausing_an_unknown_domain_names_the_nearest_and_offers_nothing(
    harness: CommandHarness,
) -> None:
    card = await harness.say("pause domain:goood.com")
    assert card.title == "No inbox is on goood.com"
    assert card.text == ("Nothing was changed. Did you mean good.com?",)
    assert (card.buttons, card.question) == ((), None)
    assert harness.service.asked("PATCH") == []


async def test_the_question_about_several_states_when_the_pause_ends(harness: CommandHarness) -> None:
    for line, until in (
        ("pause all for 2h", "until 16:30 UTC"),
        ("pause all until tuesday 17:00", "until today 17:00 UTC"),
        ("pause all until monday", "until 16 Mar 09:00 UTC"),
        ("pause all", "until you resume them"),
    ):
        card = await harness.say(line)
        assert card.text[0] == f"They stop sending {until}. Replies still arrive.", line


async def test_a_named_day_that_is_today_says_so_in_the_persons_zone(harness: CommandHarness) -> None:
    # 14:30 UTC on Tuesday is 03:30 on Wednesday in Auckland
    context = replace(harness.context, zone=ZoneInfo("Pacific/Auckland"))
    card = said(await run(parse("pause spring until wednesday 9:00"), context))
    assert card.title == "Spring is paused until today 09:00 NZDT"
    assert records(harness).planned["resume", "sq_3"].due_at == datetime(2026, 3, 10, 20, tzinfo=UTC)
