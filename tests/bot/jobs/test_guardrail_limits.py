"""When guardrails do less than their rule says: off, limited, waiting, without the right."""

from __future__ import annotations

from bot.guardrails import Guardrails
from shared.records.guardrails import Switch
from tests.bot.due import evaluate
from tests.bot.jobs.guarded_workspace import ACTS, GuardedWorkspace
from tests.bot.manual_clock import CHANNEL, HOUR, MINUTE


async def test_a_decision_that_was_not_carried_out_before_guard_off_is_void(
    guarded: GuardedWorkspace,
) -> None:
    await guarded.rule(ACTS)
    guarded.sent(100)
    await guarded.bounce(6)
    # Decided and not carried out: `guard off` comes between the two.
    guarded.remote.fails[guarded.sequence] = 500
    assert await guarded.advance() == []
    await guarded.store.guardrails.switch_off("default", Switch(rule="", by="ann", at=guarded.clock.now))
    guarded.remote.fails.clear()
    cards = await guarded.advance(10 * MINUTE)
    assert [card.title for card in cards] == ["Guardrail rule didn't pause Q3 founders"]
    assert guarded.remote.patched == []


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
    assert len(guarded.remote.patched) == 2


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
    assert guarded.remote.patched == []


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
    assert card.title == "Guardrail rule suggests pausing Q3 founders"
    assert "Only a suggestion: @ann, who added the rule, no longer has permission to pause" in card.text[0]
    assert guarded.remote.patched == []
