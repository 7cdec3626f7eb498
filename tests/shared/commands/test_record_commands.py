"""The commands that work on the bot's records, and how every card names its workspace."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from shared.commands import parse
from shared.commands.digest import digest_card
from shared.commands.run import NO_RECORDS, UNCHECKED, run
from shared.commands.subscribe import Subscribe, Unsubscribe
from shared.domain.card import Card, Tone
from shared.records.audit import Actor, AuditEntry
from shared.records.records import RecordsUnavailable, Subscription
from shared.records.replies import OpenReply, ReceivedReply
from shared.settings import UnknownWorkspace
from tests.shared.doubles import NOW, CommandHarness, MemoryRecords, facts, said, text
from tests.shared.waits import Claim


def records(harness: CommandHarness) -> MemoryRecords:
    assert harness.records is not None
    return harness.records


def cells(card: Card, title: str) -> list[object]:
    """A table's column."""
    if card.table is None:
        return []
    column = [column.title for column in card.table.columns].index(title)
    return [row.cells[column] for row in card.table.rows]


def reply(minutes: int) -> OpenReply:
    received = NOW - timedelta(minutes=minutes)
    return OpenReply(
        alert_id=f"al_{minutes}",
        received_at=received,
        lead="Ann",
        email="ann@acme.com",
        company="Acme",
        sequence="Spring",
    )


async def test_who_replied_in_a_period_is_listed_with_who_takes_care_of_it(harness: CommandHarness) -> None:
    known = records(harness)
    known.heard_since = NOW - timedelta(days=9)
    known.received = [
        ReceivedReply(kind="reply.interested", reply=reply(40), claimed_by="ben"),
        ReceivedReply(kind="reply.interested", reply=reply(2)),
        ReceivedReply(kind="lead.replied", reply=reply(3), done_by="ann"),
        ReceivedReply(kind="reply.ooo", reply=reply(60 * 24)),
    ]
    card = await harness.say("replies today")
    assert cells(card, "State") == ["interested reply, unclaimed", "done by @ann", "@ben"]
    assert not card.text
    assert [(row["event"], row["claimed_by"]) for row in card.data or ()][-1] == ("reply.interested", "ben")
    assert cells(await harness.say("replies 7d"), "State")[-1] == "out of office"
    assert (await harness.say("replies last month")).tone is Tone.UNKNOWN


async def test_replies_of_a_time_before_the_first_delivery_are_unknown(harness: CommandHarness) -> None:
    assert (await harness.say("replies today")).tone is Tone.UNKNOWN
    records(harness).heard_since = NOW - timedelta(minutes=5)
    card = await harness.say("replies today")
    assert card.tone is Tone.INFO
    assert "earlier replies aren't known" in text(card)


async def test_subscribe_takes_exactly_what_is_listed_and_shows_the_whole_set(
    harness: CommandHarness,
) -> None:
    await harness.say("subscribe lead.bounced")
    card = await harness.say("subscribe reply.ooo sequence=spri condensed")
    assert card.tone is Tone.GOOD
    assert [parse(button.line).arguments for button in card.buttons] == [
        Unsubscribe(events=("lead.bounced",), channel="C1"),
        Unsubscribe(events=("reply.ooo",), sequence="Spring", channel="C1"),
    ]
    assert UNCHECKED in card.text
    assert records(harness).routes == {
        Subscription(channel="C1", event="lead.bounced"),
        Subscription(channel="C1", event="reply.ooo", sequence="Spring", condensed=True),
    }


async def test_every_line_that_undoes_does(harness: CommandHarness) -> None:
    await harness.say("subscribe lead.bounced reply.ooo sequence=Spring inbox=a@good.com")
    card = await harness.say("subscribe lead.replied #sales")
    card = await harness.say("subscriptions")
    assert len(card.data or ()) == 2
    for button in card.buttons:
        await harness.say(button.line)
    assert records(harness).routes == {Subscription(channel="#sales", event="lead.replied")}


async def test_subscribe_asks_which_sequence(harness: CommandHarness) -> None:
    card = await harness.say("subscribe lead.bounced sequence=Q3")
    assert [parse(button.line).arguments for button in card.buttons] == [
        Subscribe(events=("lead.bounced",), sequence=sequence) for sequence in ("sq_1", "sq_2")
    ]
    assert records(harness).routes == set()


async def test_unsubscribe_all_ends_every_one_and_a_plain_kind_no_filtered_one(
    harness: CommandHarness,
) -> None:
    await harness.say("subscribe lead.bounced sequence=Spring")
    card = await harness.say("unsubscribe lead.bounced")
    assert (card.tone, len(card.buttons)) == (Tone.WARN, 1)
    card = await harness.say("unsubscribe all")
    assert (card.tone, card.buttons) == (Tone.GOOD, ())
    assert records(harness).routes == set()


async def test_a_digest_is_set_shown_and_ended(harness: CommandHarness) -> None:
    assert "every day at 09:00" in (await harness.say("digest at 9")).title
    card = await harness.say("digest")
    assert "every day at 09:00" in card.title
    assert "Digest: every day at 09:00" in text(await harness.say("subscriptions"))
    assert card.buttons[1].line == "digest today"
    await harness.say(card.buttons[2].line)
    assert records(harness).digests == {}
    assert [entry.result for entry in records(harness).entries] == [
        "C1: digest at 09:00 UTC",
        "C1: digest off",
    ]


def claimed(name: str, sequence: str, *, minutes: float, days_ago: int) -> Claim:
    return Claim(
        name=name, sequence=sequence, waited=timedelta(minutes=minutes), at=NOW - timedelta(days=days_ago)
    )


async def test_the_digest_compares_with_the_same_weekday(harness: CommandHarness) -> None:
    yesterday = NOW.date() - timedelta(days=1)
    records(harness).came = {
        yesterday: {"lead.bounced": 20, "lead.replied": 9},
        yesterday - timedelta(weeks=1): {"lead.bounced": 40, "lead.replied": 8},
        NOW.date(): {"lead.bounced": 50},
    }
    records(harness).replies = [reply(40)]
    records(harness).claims = [
        claimed("ann", "Spring", minutes=2, days_ago=1),
        claimed("ann", "Q3", minutes=4, days_ago=1),
        claimed("ben", "Q3", minutes=60, days_ago=1),
        claimed("ben", "Q3", minutes=600, days_ago=0),
        claimed("ben", "Q3", minutes=20, days_ago=8),
    ]
    card = await harness.say("digest now")
    by_label = facts(card)
    assert card.title == "Digest, Monday 9 March"
    assert card.text == ("Compared with Monday 2 March (same weekday).",)
    assert by_label["Sends"] == "4,000"
    assert by_label["New events"] == "20 bounces (▼ 50%), 9 replies"
    assert by_label["Time to claim"] == "median 4 min (3 claims), 20 min before"
    assert by_label["Unclaimed replies"] == "1, the oldest for 40 min"
    assert by_label["Domains"].startswith(
        "1 of 4 inboxes bad · 1 of unknown health; poor.com (1 bad, lowest 41)"
    )


async def test_events_of_a_digest_are_compared_only_with_days_of_which_all_are_known(
    harness: CommandHarness,
) -> None:
    yesterday = NOW.date() - timedelta(days=1)
    records(harness).came = {
        yesterday: {"lead.bounced": 20},
        yesterday - timedelta(weeks=1): {"lead.bounced": 2},
    }
    assert facts(await harness.say("digest now"))["New events"] == "20 bounces (▲ 900%)"
    week_ago = datetime.combine(yesterday - timedelta(weeks=1), time(12), UTC)
    records(harness).guardrails.heard = week_ago.timestamp()
    assert facts(await harness.say("digest now"))["New events"] == "20 bounces"


async def test_a_digest_of_a_young_account_is_not_compared(harness: CommandHarness) -> None:
    harness.service.first_day = "2026-02-26"
    card = await digest_card(harness.context, length=7)
    assert card.text == ("Not compared: the counts of 24 February to 2 March are incomplete.",)
    assert not re.search("change|▲|▼", facts(card)["Sends"])
    harness.service.first_day = "2026-02-24"
    assert (await digest_card(harness.context, length=7)).text[0].startswith("Compared with")


async def test_audit_is_in_the_order_of_time_with_one_name_for_a_person(harness: CommandHarness) -> None:
    def entry(minute: int, name: str, command: str) -> AuditEntry:
        at = NOW.replace(minute=minute)
        actor = Actor(name=name, id="U1", face="slack", channel="C1")
        return AuditEntry(at=at, actor=actor, workspace="default", command=command, result="done")

    records(harness).entries += [
        entry(10, "ann.kirsch", "pause sq_1"),
        entry(20, "ann", "resume sq_1"),
        entry(5, "U1", "pause sq_2"),  # its result came late
    ]
    card = await harness.say("audit")
    assert card.table is not None
    assert [row.cells[3] for row in card.table.rows] == ["resume sq_1", "pause sq_1", "pause sq_2"]
    assert {row.cells[1] for row in card.table.rows} == {"@ann"}


async def test_audit_shows_what_was_refused_apart_from_the_changes(harness: CommandHarness) -> None:
    await harness.say("pause sq_1")
    await harness.say("pause nonsense")
    card = await harness.say("audit")
    assert card.title == "Last 1 change"
    assert card.table is not None
    assert [row.cells[3] for row in card.table.rows] == ["pause sq_1"]
    assert [fact.value for fact in card.facts] == ["14:30 UTC, @ann: pause nonsense (no single sequence)"]
    assert card.data is not None
    assert [one["refused"] for one in card.data] == [True, False]


@pytest.mark.parametrize("line", ["open", "audit", "subscriptions", "subscribe lead.bounced", "digest at 9"])
async def test_without_records_their_commands_say_so(harness: CommandHarness, line: str) -> None:
    harness.records = None
    with pytest.raises(RecordsUnavailable, match=NO_RECORDS):
        await harness.say(line)


async def test_a_line_for_another_workspace_touches_nothing_here(harness: CommandHarness) -> None:
    with pytest.raises(UnknownWorkspace, match="default"):
        await harness.say("pause sq_1 @globex")
    assert harness.service.requests == []


async def test_a_filter_that_no_inbox_fits_is_refused_with_the_nearest(harness: CommandHarness) -> None:
    card = await harness.say("subscribe lead.bounced inbox=god.com")
    assert card.title == "No inbox matches “god.com”"
    assert card.text == ("Nothing was subscribed. Did you mean good.com?",)
    assert harness.records is not None
    assert not await harness.records.subscriptions("default", "C1")


async def test_a_digest_comes_in_its_authors_zone_which_the_answers_name(harness: CommandHarness) -> None:
    context = replace(harness.context, zone=ZoneInfo("Europe/Berlin"))
    card = said(await run(parse("digest at 9:00"), context))
    assert (card.tone, "every day at 09:00 Europe/Berlin" in card.title) == (Tone.GOOD, True)
    assert "11 Mar 09:00 CET" in card.text[0]
    assert harness.records is not None
    assert harness.records.digests == {"C1": "09:00 Europe/Berlin"}
    known = said(await run(parse("subscriptions"), context))
    assert "Digest: every day at 09:00 Europe/Berlin, next 11 Mar 09:00 CET." in known.text
    card = said(await run(parse("digest mondays at 08:30 UTC"), context))
    assert "every Monday at 08:30 UTC" in card.title
    assert "16 Mar 09:30 CET" in card.text[0]
    harness.records.digests["C1"] = "10:00"  # kept before digests had zones
    card = said(await run(parse("digest"), context))
    assert "every day at 10:00 UTC" in card.title


async def test_many_refusals_hide_no_change_from_the_audit(harness: CommandHarness) -> None:
    await harness.say("pause sq_1")
    entry = records(harness).entries[0]
    refused = replace(entry, command="pause all", result="refused: role", effect="refused", sequences=())
    records(harness).entries += [refused] * 200
    card = await harness.say("audit")
    assert card.title == "Last 1 change"
    assert [fact.label for fact in card.facts] == ["Refused"] * 5
