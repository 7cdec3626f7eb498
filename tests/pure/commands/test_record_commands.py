"""The commands that work on the bot's records: replies, subscriptions, digests and the audit log."""

from __future__ import annotations

import re
from datetime import timedelta

from shared.commands.subscribe import digest_card
from shared.domain.card import Card, Tone
from shared.records import Actor, AuditEntry, Subscription
from tests.kit.commands import NOW, CommandHarness, facts

ANN, BEN = (Actor(name=name, id=f"U{name}", face="slack") for name in ("ann", "ben"))
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


def cells(card: Card, title: str) -> list[object]:
    """A table's column."""
    if card.table is None:
        return []
    column = [column.title for column in card.table.columns].index(title)
    return [row.cells[column] for row in card.table.rows]


async def subscriptions(harness: CommandHarness, channel: str = "C1") -> list[Subscription]:
    return [*await harness.store.subscriptions("default", channel)]


async def test_every_line_that_undoes_does(harness: CommandHarness) -> None:
    await harness.say("subscribe lead.bounced reply.ooo sequence=Spring inbox=a@good.com")
    await harness.say("subscribe lead.replied #sales condensed")
    card = await harness.say("subscriptions")
    assert len(card.data) == 2
    for button in card.buttons:
        await harness.say(button.line)
    assert await subscriptions(harness) == []
    sales = Subscription(channel="#sales", event="lead.replied", condensed=True)
    assert await subscriptions(harness, "#sales") == [sales]


async def test_unsubscribe_all_ends_every_one_and_a_plain_kind_no_filtered_one(
    harness: CommandHarness,
) -> None:
    await harness.say("subscribe lead.bounced sequence=Spring")
    card = await harness.say("unsubscribe lead.bounced")
    assert (card.tone, len(card.buttons)) == (Tone.WARN, 1)
    card = await harness.say("unsubscribe all")
    assert (card.tone, card.buttons) == (Tone.GOOD, ())
    assert await subscriptions(harness) == []


async def test_the_digest_compares_with_the_same_weekday(harness: CommandHarness) -> None:
    # Events are known from the first delivery on, which must be older than the day that is compared with.
    await harness.deliver("sequence.completed", "first@x.com", ago=9 * DAY)
    for number, ago in ((40, 8), (20, 1), (50, 0)):
        await harness.deliver("lead.bounced", *(f"b{n}-{ago}@x.com" for n in range(number)), ago=ago * DAY)
    # The last one was claimed eight days ago, on the day that is compared with.
    waits = [("ann", 2, 1), ("ann", 4, 1), ("ben", 60, 1), ("ben", 600, 0), ("ben", 20, 8)]
    for n, (name, minutes, days) in enumerate(waits):
        claimed = NOW - days * DAY
        await harness.deliver(
            "reply.interested", f"p{n}@acme.com", ago=days * DAY + minutes * MINUTE, reply="Y"
        )
        with harness.at(NOW - claimed):
            alert = (await harness.ids())[f"p{n}@acme.com"]
            await harness.store.alerts.act(alert, "claim", Actor(name=name, id=name))
    await harness.deliver("reply.interested", "open@acme.com", ago=40 * MINUTE, reply="Y")
    card = await harness.say("digest now")
    by_label = facts(card)
    assert card.title == "Digest, Monday 9 March"
    assert card.text == ("Compared with Monday 2 March (same weekday).",)
    assert by_label["Sends"] == "4,000"
    assert by_label["New events"] == "20 bounces (▼ 50%), 3 interested replies"
    assert by_label["Time to claim"] == "3 claims, median 4 min"
    assert by_label["Unclaimed replies"] == "1, the oldest for 40 min"
    assert by_label["Domains"].startswith("1 of 4 inboxes bad · 1 of unknown health: poor.com")


async def test_a_digest_of_a_young_account_is_not_compared(harness: CommandHarness) -> None:
    harness.service.first_day = "2026-02-26"
    # A week that began in the middle would make every count look like growth.
    card = await digest_card(harness.context, length=7)
    assert card.text == ("Not compared: the counts of 24 February to 2 March are incomplete.",)
    assert not re.search("change|▲|▼", facts(card)["Sends"])
    harness.service.first_day = "2026-02-24"
    assert (await digest_card(harness.context, length=7)).text[0].startswith("Compared with")


async def test_audit_is_in_the_order_of_time_and_refusals_hide_no_change(harness: CommandHarness) -> None:
    def entry(minute: int, name: str, command: str, effect: str = "paused") -> AuditEntry:
        at = NOW.replace(minute=minute)
        actor = Actor(name=name, id="U1", face="slack", channel="C1")
        return AuditEntry(
            at=at, actor=actor, workspace="default", command=command, result="done", effect=effect  # type: ignore[arg-type]
        )  # fmt: skip

    for one in (
        entry(10, "ann", "pause sq_1"),
        entry(20, "ann", "resume sq_1"),
        entry(5, "ann", "pause sq_2"),  # its result came late
        *[entry(25, "ann", "pause all", "refused")] * 30,  # which hide no change
    ):
        await harness.store.record(one)
    await harness.say("pause nonsense")
    card = await harness.say("audit")
    assert card.table is not None
    done = [row.cells[3] for row in card.table.rows if row.tone is Tone.INFO]
    assert done == ["resume sq_1", "pause sq_1", "pause sq_2"]
    refused = [row.cells for row in card.table.rows if row.tone is Tone.WARN]
    assert len(refused) == 5
    assert refused[0][3:] == ("pause nonsense", "refused: no single sequence")
    assert [one["refused"] for one in card.data].count(False) == 3


def rows_of(card: Card) -> int:
    return len(card.table.rows) if card.table else 0


async def test_a_long_answer_shows_its_first_part(harness: CommandHarness) -> None:
    service, numbers = harness.service, range(16)
    service.inboxes = [{"email": f"a@d{n:02}.com", "health_score": 41} for n in numbers]
    assert rows_of(await harness.say("status")) == 10
    service.leads = [{"id": f"ld_{n}", "email": f"p{n}@acme.com", "first_name": "Ada"} for n in numbers]
    assert len((await harness.say("lead ada")).buttons) == 10
    service.leads = [service.leads[0] | {f"f{n}": n for n in numbers}]
    assert [name for name in facts(await harness.say("lead p0@acme.com")) if name[0] == "f"][-1] == "f11"
    service.sequences = [{"id": f"sq_{n:02}", "name": f"Spring {n:02}", "status": "active"} for n in numbers]
    assert len((await harness.say("pause spring")).buttons) == 10
    assert rows_of(await harness.say("pause all")) == 15
    for n in numbers:
        await harness.deliver("reply.interested", f"p{n}@acme.com", reply="Y")
        await harness.deliver("lead.bounced", f"q{n}@acme.com", sequence=f"S{n:02}", inbox="a@d00.com")
    # The page that was asked for is gone, as others have claimed since.
    assert (await harness.say("replies 9")).text == ("16 to 16 of 16, oldest first.",)
    domain = facts(await harness.say("domain d00.com"))
    assert domain["Sequences"] == "S00 · S01 · S02 · S03 · S04 · S05 and 10 more"
