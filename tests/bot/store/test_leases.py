"""Lanes in trouble, letters in doubt and clocks that are set: the ledger alone, by a clock that the test holds."""

from __future__ import annotations

from pathlib import Path

from bot.alerts import rendering
from bot.alerts.routing import Routes
from bot.store import Ledger, open_ledger
from bot.store.queue.deliveries import Arrival, PlannedPost
from bot.store.queue.leases import ChannelLease
from bot.store.queue.outcomes import (
    Absent,
    ChannelRefused,
    NotSent,
    Outcome,
    Sent,
    Settled,
    Unknown,
    Unpostable,
)
from shared.storage.database import parse_url
from tests.bot.harness import interested
from tests.bot.held_clock import Hands

ROUTES = Routes(alert_channels={"default": "C1"}, subscriptions={})
REFUSED = ChannelRefused(error="is_archived")
HIDDEN = Unpostable(error="cannot look it up: is_archived", unsure=True)


async def arrive(ledger: Ledger, *numbers: int) -> None:
    at = ledger.store.clock()
    batch = [Arrival(workspace="default", body=interested(n), at=at + n / 1e6) for n in numbers]
    await ledger.store_batch(batch, number=1)
    await ledger.route(ROUTES.decide)


async def take(ledger: Ledger) -> ChannelLease:
    (turn,) = (await ledger.claim_turns(limit=5)).turns
    return turn


async def meet(ledger: Ledger, outcome: Outcome) -> tuple[ChannelLease, Settled]:
    """One turn, and what it came to."""
    turn = await take(ledger)
    return turn, await ledger.settle(turn, outcome)


async def test_whoever_speaks_still_is_not_given_the_same_channel_when_the_clock_leaps(
    ledger: Ledger, hands: Hands
) -> None:
    await arrive(ledger, 1)
    turn = await take(ledger)
    hands.now += 3_600
    claimed = await ledger.claim_turns(limit=5, besides=("C1",))
    assert (claimed.turns, claimed.next_in) == ((), None)
    assert (await ledger.settle(turn, Sent(ts="1"))).held


async def test_a_clock_that_is_set_back_does_not_shorten_the_doubt(ledger: Ledger, hands: Hands) -> None:
    await arrive(ledger, 1)
    await take(ledger)
    hands.now -= 7 * 86_400  # a dead process's attempt: it may be under way still
    began = hands.now
    while (await meet(ledger, Absent()))[0].lookup:
        hands.now += ledger.pace.read_pause
    assert hands.now - began >= ledger.pace.longest


async def test_a_clock_that_is_set_back_by_some_minutes_keeps_nobody_waiting(
    ledger: Ledger, hands: Hands
) -> None:
    await arrive(ledger, 1, 2, 3)
    for ts in ("1", "2"):
        await meet(ledger, Sent(ts=ts))
    hands.now -= 600
    turn, _ = await meet(ledger, NotSent(after=30.0, error="ratelimited"))
    assert (await ledger.claim_turns(limit=5)).turns == (), "and Slack's pauses hold"
    hands.now += 31
    assert (await take(ledger)).posts[0].id == turn.posts[0].id


async def test_who_takes_over_from_the_dead_waits_for_no_time_of_theirs(ledger: Ledger, hands: Hands) -> None:
    await arrive(ledger, 1)
    await meet(ledger, NotSent(after=600.0))
    hands.now -= 300
    assert (await ledger.claim_turns(limit=5)).turns == ()
    await ledger.inherit()
    assert len((await take(ledger)).posts) == 1


async def test_a_message_that_is_told_of_late_is_sent_unless_it_was_tried_again(
    ledger: Ledger, hands: Hands
) -> None:
    await arrive(ledger, 1)
    late = await take(ledger)
    hands.now += ledger.pace.longest + 1
    for _ in range(2):
        assert (await meet(ledger, Absent()))[0].lookup
        hands.now += ledger.pace.read_pause
    assert not (await ledger.settle(late, Sent(ts="1"))).held
    assert (await ledger.claim_turns(limit=5)).turns == ()


async def test_a_message_that_is_found_in_a_broken_channel_cures_nothing(
    ledger: Ledger, hands: Hands
) -> None:
    await arrive(ledger, 1, 2)
    await meet(ledger, Unknown())
    hands.now += 60
    assert (await meet(ledger, HIDDEN))[0].lookup
    assert (await meet(ledger, REFUSED))[1].broke
    hands.now += 60
    await ledger.revive()
    turn, settled = await meet(ledger, Sent(ts="1"))
    assert (turn.lookup, settled.cured) == (True, False)
    assert (await ledger.summary("default")).dead == 1
    hands.now += 60
    turn, settled = await meet(ledger, Sent(ts="2"))
    assert (turn.lookup, settled.cured) == (False, True)


async def test_a_message_that_was_tried_since_the_channel_broke_and_is_found_there_cures_it(
    ledger: Ledger, hands: Hands
) -> None:
    await arrive(ledger, 1, 2)
    await meet(ledger, REFUSED)
    hands.now += 31
    await meet(ledger, Unknown())
    hands.now += 5
    turn, settled = await meet(ledger, Sent(ts="1"))
    assert (turn.lookup, settled.cured) == (True, True)
    hands.now += 5
    await meet(ledger, Sent(ts="2"))


async def test_a_broken_channel_whose_only_letter_is_in_doubt_is_looked_at_again(
    ledger: Ledger, hands: Hands
) -> None:
    await arrive(ledger, 1)
    assert (await meet(ledger, REFUSED))[1].broke
    hands.now += 31
    await meet(ledger, Unknown())
    hands.now += 31
    await meet(ledger, HIDDEN)
    assert (await ledger.claim_turns(limit=5)).turns == ()
    assert await ledger.revive() == 1
    assert (await meet(ledger, Sent(ts="1")))[0].lookup
    assert (await ledger.summary("default")).dead == 0


async def test_a_broken_channel_tries_another_letter_each_time(ledger: Ledger, hands: Hands) -> None:
    await arrive(ledger, 1, 2)
    await meet(ledger, REFUSED)
    tried = set()
    for _ in range(2):
        hands.now += 601
        turn, settled = await meet(ledger, Unpostable(error="msg_too_long"))
        tried.add(turn.posts[0].alert_id)
        assert not settled.cured, "Slack refused the message before it looked at the channel"
    assert len(tried) == 2


async def test_what_is_said_of_a_broken_channel_is_planned_with_its_breaking(ledger: Ledger) -> None:
    await arrive(ledger, 1)

    def report(turn: ChannelLease, outcome: Outcome, settled: Settled) -> PlannedPost | None:
        return PlannedPost(dedupe="note", channel="C2", kind="note") if settled.broke else None

    await ledger.settle(await take(ledger), REFUSED, report=report)
    assert (await take(ledger)).channel == "C2"


async def test_a_message_has_a_name_that_no_other_database_gives(tmp_path: Path, hands: Hands) -> None:
    names: list[str] = []
    for number in (1, 2, 1):
        url = parse_url(f"sqlite:///{tmp_path}/{len(names)}.db")
        async with open_ledger(url, clock=hands) as ledger:
            await arrive(ledger, number)
            names.append(rendering.key((await take(ledger)).posts))
    assert names[0] != names[1]
    assert names[0] == names[2], "the same alert in the same channel"


async def test_what_nobody_has_looked_at_yet_is_never_forgotten(ledger: Ledger, hands: Hands) -> None:
    await ledger.store_batch([Arrival(workspace="default", body=interested(1), at=hands.now)], number=1)
    hands.now += 1_000
    assert (await ledger.prune(bodies_after=10, hashes_after=100)).deliveries == 0
    await ledger.route(ROUTES.decide)
    assert len((await take(ledger)).posts) == 1
