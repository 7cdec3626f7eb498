"""Guardrails at work, by a clock that the test holds: told, suggested or paused once, and never on doubtful data."""

from __future__ import annotations

from datetime import UTC, datetime

import httpx
import pytest
import sqlalchemy as sa

from bot import cards, guardrails
from bot.guardrails import Guardrails
from bot.jobs import polls
from shared.domain.card import Card
from shared.records.guardrails import Switch
from shared.records.records import RecordsUnavailable
from shared.store.db.schema import posts
from tests.faults.jobs.guarded_workspace import ACTS, GuardedWorkspace
from tests.kit.due import evaluate
from tests.kit.manual_clock import CHANNEL, HOUR, MINUTE

BOTH = "pause domain when bounces > 5 in 24h"


async def two_sequences_bounce(guarded: GuardedWorkspace) -> str:
    """A rule that pauses two sequences of a domain, whose bounces are over its threshold; returns the second."""
    other = guarded.remote.add("Spring")
    await guarded.rule(BOTH)
    guarded.sent(100)
    await guarded.bounce(4)
    await guarded.bounce(3, name="Spring", first=100)
    return other


async def test_a_sequence_that_cannot_be_paused_holds_up_no_other_and_hides_none(
    guarded: GuardedWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guardrails, "ATTEMPTS", 3)
    other = await two_sequences_bounce(guarded)
    guarded.remote.failing[f"PATCH /sequences/{guarded.sequence}"] = httpx.Response(500)
    assert await guarded.advance() == []
    assert guarded.remote.applied == [(other, "paused")]
    (card,) = await guarded.advance(10 * MINUTE)
    assert card.title == "Guardrail rule paused Spring"
    assert "Not paused because the service refused: Q3 founders." in card.text
    assert guarded.remote.applied == [(other, "paused")]
    (entry,) = await guarded.audit()
    assert entry.result == f"Spring ({other}) paused"


async def test_guard_off_between_two_pauses_stops_the_second(
    guarded: GuardedWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = await two_sequences_bounce(guarded)
    client = guarded.contexts.clients["default"]
    pause = client.pause_sequence

    # A person types `guard off` while the first of two pauses is at the service.
    async def pause_and_turn_off(name: str) -> object:
        done = await pause(name)
        await guarded.store.guardrails.switch_off("default", Switch(rule="", by="ann", at=guarded.clock.now))
        return done

    monkeypatch.setattr(client, "pause_sequence", pause_and_turn_off)
    (card,) = await guarded.advance(10 * MINUTE)
    assert card.title == "Guardrail rule paused Q3 founders"
    assert guarded.remote.sequence(other)["status"] == "active"
    assert guarded.remote.applied == [(guarded.sequence, "paused")]


async def test_a_process_that_dies_between_two_pauses_leaves_a_persons_pause_to_them(
    guarded: GuardedWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = await two_sequences_bounce(guarded)

    async def die(*_: object) -> None:
        raise RecordsUnavailable

    pause = guarded.contexts.clients["default"].pause_sequence

    # The process dies when the first pause is confirmed, and before it notes that it asks for the second.
    async def pause_and_die(name: str) -> object:
        done = await pause(name)
        monkeypatch.setattr(guarded.store.incidents, "asking", die)
        return done

    monkeypatch.setattr(guarded.contexts.clients["default"], "pause_sequence", pause_and_die)
    assert await guarded.advance() == []
    monkeypatch.undo()
    guarded.remote.sequence(other)["status"] = "paused"  # by a person
    (card,) = await guarded.advance(10 * MINUTE)
    assert card.title == "Guardrail rule paused Q3 founders"


async def test_days_that_are_over_are_read_once_and_known_to_backtests(
    guarded: GuardedWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polls, "BACKFILL", 30)
    yesterday = datetime.fromtimestamp(guarded.clock.now - 24 * HOUR, UTC).date().isoformat()
    guarded.remote.daily["sequence", yesterday] = [{"group": guarded.sequence, "sends": 120, "replies": 3}]
    for _ in range(4):
        await guarded.sampler.sample()
    assert len(await guarded.store.guardrails.closed_days("default")) == 30
    kept = await guarded.store.guardrails.samples("default", 0.0)
    assert [(one.key, one.sends) for one in kept if one.sends] == [("Q3 founders", 120)]


async def test_no_rule_misses_replies_that_the_service_left_out(guarded: GuardedWorkspace) -> None:
    """Also not of a name that two sequences share, nor after a restart."""
    await guarded.rule("notify about sequence when no replies after 50 sends in 24h")
    guarded.sent(100)
    rows = guarded.remote.daily["sequence", guarded.today]
    # What is left out is unknown: read as zero, the rule would report that nobody replies.
    del rows[0]["replies"]
    rows.append({"group": "Q3 founders", "sends": 5, "replies": 0})
    assert await guarded.advance() == []
    known = [one for one in await guarded.store.guardrails.samples("default", 0.0) if one.scope == "sequence"]
    assert {(one.sends, one.replies) for one in known} == {(105, None)}
    rows[0]["replies"] = 0
    assert len(await guarded.advance(10 * 60)) == 1


async def test_a_decision_that_was_not_carried_out_before_guard_off_is_void(
    guarded: GuardedWorkspace,
) -> None:
    await guarded.rule(ACTS)
    guarded.sent(100)
    await guarded.bounce(6)
    # Decided and not carried out: `guard off` comes between the two.
    guarded.remote.failing[f"PATCH /sequences/{guarded.sequence}"] = httpx.Response(500)
    assert await guarded.advance() == []
    await guarded.store.guardrails.switch_off("default", Switch(rule="", by="ann", at=guarded.clock.now))
    guarded.remote.failing.clear()
    cards = await guarded.advance(10 * MINUTE)
    assert [card.title for card in cards] == ["Guardrail rule didn't pause Q3 founders"]
    assert guarded.remote.applied == []


async def test_never_more_sequences_are_held_paused_than_the_rule_allows(guarded: GuardedWorkspace) -> None:
    for name in ("A", "B", "C"):
        guarded.remote.add(name)
    await guarded.rule("pause domain when bounces > 5 in 24h, at most 2 sequences at once")
    guarded.sent(100)
    for number, name in enumerate(("A", "B", "B", "C", "C", "C")):
        await guarded.bounce(1, name=name, first=number)
    (card,) = await guarded.advance()
    assert card.title == "Guardrail rule paused 2 sequences"
    assert card.text[1:] == (
        "C, B.",
        "Left running because of the rule's limit: A.",
    )
    assert len(guarded.remote.applied) == 2


async def test_rules_wait_after_an_outage_of_the_bot_since_late_deliveries_come_together(
    guarded: GuardedWorkspace,
) -> None:
    await guarded.rule(ACTS)
    guarded.sent(100)
    await guarded.advance(10 * MINUTE)
    # Bounces of five hours come in one minute: counted as of now, they would look like a spike.
    guarded.clock.now += 5 * HOUR
    await guarded.bounce(6)
    assert await guarded.advance() == []
    assert guarded.remote.applied == []


async def test_a_rule_only_suggests_when_its_author_lost_the_permission(
    guarded: GuardedWorkspace,
) -> None:
    async def nobody(user: str, channel: str) -> bool:
        assert (user, channel) == ("U1", CHANNEL)
        return False

    # Asked when the rule fires: its author may have lost the role since they added it.
    strict = Guardrails(guarded.store, guarded.contexts, planned=lambda: None, permitted=nobody)
    await guarded.rule(ACTS, by="U1")
    guarded.sent(100)
    await guarded.sampler.sample()
    await guarded.bounce(6)
    await evaluate(strict)
    (card,) = await guarded.posted_cards()
    assert card.title == "Guardrail rule suggests pausing sequence Q3 founders"
    assert "Only a suggestion: @ann, who added the rule, no longer has permission to pause" in card.text[0]
    assert guarded.remote.applied == []


ALL_THAT_FIRE = {
    "domain-bounces-10-1h",
    "domain-bounces-5-1h",
    "bounces-10",
    "domain-bounces-10",
}


async def messages(guarded: GuardedWorkspace) -> list[tuple[bool, Card]]:
    """The messages of guardrails as they stand, and whether each is a line only."""
    query = sa.select(posts.c.condensed, posts.c.note).where(posts.c.kind == "note").order_by(posts.c.id)
    rows = await guarded.store.database.read(lambda tx: tx.execute(query).all())
    return [(row.condensed, cards.read_note(row.note)) for row in rows]


async def test_all_rules_that_find_one_trouble_share_one_message(guarded: GuardedWorkspace) -> None:
    guarded.sent(100)
    await guarded.advance()
    await guarded.bounce(12)
    said = await guarded.advance(10 * MINUTE)
    open_ = await guarded.store.incidents.open("default")
    assert {one.rule for one in open_} == ALL_THAT_FIRE
    assert len({one.told for one in open_}) == 1, "the sequence's bounces came from the domain"
    assert len(said) == 1
    ((_, card),) = await messages(guarded)
    assert "suggests pausing" in card.title, "a suggestion says more than a notice"
    assert all(name in f"{card.title} {card.text}" for name in ALL_THAT_FIRE)
    assert card.buttons[0].label.startswith("Pause ")
