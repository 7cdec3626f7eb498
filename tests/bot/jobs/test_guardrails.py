"""Guardrails at work, by a clock that the test holds: told, suggested or paused once, and never on doubtful data."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bot import guardrails
from bot.jobs import samples
from shared.records.guardrails import Switch
from shared.records.records import RecordsUnavailable
from tests.bot.jobs.guarded_workspace import GuardedWorkspace
from tests.bot.manual_clock import HOUR, MINUTE

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
    guarded.remote.fails[guarded.sequence] = 500
    assert await guarded.advance() == []
    assert guarded.remote.patched == [(other, "paused")]
    (card,) = await guarded.advance(10 * MINUTE)
    assert card.title == "Guardrail rule paused Spring"
    assert "Not paused because the service refused: Q3 founders." in card.text
    assert guarded.remote.patched == [(other, "paused")]
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
    assert guarded.remote.sequences[other]["status"] == "active"
    assert guarded.remote.patched == [(guarded.sequence, "paused")]


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
    guarded.remote.sequences[other]["status"] = "paused"  # by a person
    (card,) = await guarded.advance(10 * MINUTE)
    assert card.title == "Guardrail rule paused Q3 founders"


async def test_days_that_are_over_are_read_once_and_known_to_backtests(
    guarded: GuardedWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(samples, "BACKFILL", 30)
    yesterday = datetime.fromtimestamp(guarded.clock.now - 24 * HOUR, UTC).date().isoformat()
    guarded.remote.stats["sequence", yesterday] = [{"group": guarded.sequence, "sends": 120, "replies": 3}]
    for _ in range(4):
        await guarded.sampler.sample()
    assert len(await guarded.store.guardrails.closed_days("default")) == 30
    kept = await guarded.store.guardrails.samples("default", 0.0)
    assert [(one.key, one.sends) for one in kept if one.sends] == [("Q3 founders", 120)]


async def test_no_rule_misses_replies_that_the_service_left_out(guarded: GuardedWorkspace) -> None:
    """Also not of a name that two sequences share, nor after a restart."""
    await guarded.rule("notify about sequence when no replies after 50 sends in 24h")
    guarded.sent(100)
    rows = guarded.remote.stats["sequence", guarded.today]
    # What is left out is unknown: read as zero, the rule would report that nobody replies.
    del rows[0]["replies"]
    rows.append({"group": "Q3 founders", "sends": 5, "replies": 0})
    assert await guarded.advance() == []
    known = [one for one in await guarded.store.guardrails.samples("default", 0.0) if one.scope == "sequence"]
    assert {(one.sends, one.replies) for one in known} == {(105, None)}
    rows[0]["replies"] = 0
    assert len(await guarded.advance(10 * 60)) == 1
