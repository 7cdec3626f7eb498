"""Guardrails at work, by a clock that the test holds: told, suggested or paused once, and never on doubtful data."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.alerts import rendering
from bot.commands.bulk_pause import BulkPause
from bot.commands.context import CommandContexts
from bot.jobs import guardrail_acts
from bot.jobs.guardrail_samples import GuardrailSampler
from bot.jobs.guardrails import GuardrailWatch
from bot.jobs.register import open_histories
from bot.store import Store
from bot.store.alerts.confirmations import Verdict
from shared import settings as shared_settings
from shared.api.client import OutreachClient
from shared.commands import parse
from shared.domain.card import Card
from shared.domain.guard_records import StoredRule, Switch
from shared.domain.records import AuditEntry
from tests.bot.fake_service import KEY, Remote, open_remote
from tests.bot.manual_clock import ANN, CHANNEL, HOUR, MINUTE, ManualClock, arrive, post_all
from tests.shared.doubles import NoPacing

ACTS = "pause sequence when bounces > 5% of at least 50 sends in 24h"


@dataclass(kw_only=True)
class GuardedWorkspace:
    """A workspace with one sequence, and the jobs that guard it."""

    store: Store
    clock: ManualClock
    remote: Remote
    contexts: CommandContexts
    watch: GuardrailWatch
    sampler: GuardrailSampler
    sequence: str = ""

    @property
    def today(self) -> str:
        return datetime.fromtimestamp(self.clock.now, UTC).date().isoformat()

    def sent(self, count: int, *, name: str = "Q3 founders", inbox: str = "sam@mail.example") -> None:
        """So many sends of the day, by one sequence and from one inbox."""
        sends = {"sends": count, "replies": 0, "positive_replies": 0, "meetings": 0}
        self.remote.stats["sequence", self.today] = [{"group": name, **sends}]
        self.remote.stats["inbox", self.today] = [{"group": inbox, **sends}]

    async def bounce(self, count: int, *, name: str = "Q3 founders", first: int = 0) -> None:
        for number in range(first, first + count):
            lead = {"email": f"lead{number}@acme.example"}
            event = {"event": "lead.bounced", "lead": lead, "sequence": name, "inbox": "sam@mail.example"}
            await arrive(self.store, json.dumps(event).encode())

    async def rule(self, sentence: str, *, name: str = "rule", by: str = "") -> None:
        rule = StoredRule(name=name, sentence=sentence, added_by=by, added_name="ann")
        await self.store.guardrails.add_rule("default", rule)
        for shipped in ("bounces-5", "domain-bounces-5", "opt-outs-2", "no-replies-300"):
            switch = Switch(rule=shipped, by="", at=0.0)
            await self.store.guardrails.switch_off("default", switch)

    async def advance(self, seconds: float = 30.0) -> list[Card]:
        """Let time pass with the jobs at their work; returns what was said."""
        posted: list[Card] = []
        ends = self.clock.now + seconds
        while True:
            await self.sampler.sample()
            await self.watch.check()
            posted += await self.posted_cards()
            if self.clock.now >= ends:
                return posted
            self.clock.now = min(ends, self.clock.now + 5 * MINUTE)

    async def posted_cards(self) -> list[Card]:
        posts = await post_all(self.store, self.clock)
        return [rendering.read_note(post.note) for post in posts if post.note]

    async def audit(self) -> list[AuditEntry]:
        return list(await self.store.records.audit("default"))


@pytest.fixture
async def guarded(store: Store, clock: ManualClock, tmp_path: Path) -> AsyncIterator[GuardedWorkspace]:
    async with open_remote() as remote:
        remote.now = clock
        environ = {
            "OUTREACH_BASE_URL": remote.url,
            "OUTREACH_API_KEY": KEY,
            "OUTREACH_ALERT_CHANNEL": CHANNEL,
            "OUTREACH_DATABASE_URL": f"sqlite:///{tmp_path}/bot.db",
            "XDG_STATE_HOME": str(tmp_path),
        }
        settings = shared_settings.load(environ=environ)
        client = OutreachClient(base_url=remote.url, api_key=KEY, pacer=NoPacing(), total_timeout=0.3)
        contexts = CommandContexts(settings=settings, store=store, clients={"default": client})
        async with client, open_histories(contexts) as histories:
            watch = GuardrailWatch(store, contexts, planned=lambda: None, permitted=None)
            sampler = GuardrailSampler(store, contexts, histories, learn=watch.learn, saw=watch.saw)
            sequence = remote.add("Q3 founders")
            remote.inboxes.append({"email": "sam@mail.example", "health_score": 90, "status": "active"})
            yield GuardedWorkspace(
                store=store, clock=clock, remote=remote, contexts=contexts, watch=watch, sampler=sampler,
                sequence=sequence,
            )  # fmt: skip


async def test_a_rule_that_acts_pauses_once_and_tells_once_with_an_undo(guarded: GuardedWorkspace) -> None:
    await guarded.rule(ACTS, name="bounces-5-acts")
    guarded.sent(100)
    assert await guarded.advance() == []
    await guarded.bounce(6)
    (card,) = await guarded.advance(30 * MINUTE)
    assert card.title == "Guardrail bounces-5-acts paused Q3 founders"
    assert {fact.label: fact.value for fact in card.facts}[
        "Measured"
    ] == "6.0% bounces (6 of 100 sends) in 24h"
    assert guarded.remote.patched == [(guarded.sequence, "paused")]
    (entry,) = await guarded.audit()
    assert (entry.actor.name, entry.actor.face) == ("guardrail bounces-5-acts", "bot")
    assert entry.result == f"Q3 founders ({guarded.sequence}) paused"
    assert [button.label for button in card.buttons] == ["Undo", "Test the rule"]


async def test_its_undo_resumes_what_it_paused_and_snoozes_the_rule(guarded: GuardedWorkspace) -> None:
    await guarded.rule(ACTS)
    guarded.sent(100)
    await guarded.bounce(6)
    (card,) = await guarded.advance()
    nonce = card.buttons[0].command.removeprefix("undo ")
    answered = await guarded.store.confirmations.answer(nonce, "U1")
    assert answered.verdict is Verdict.TAKEN
    assert answered.question is not None
    assert (answered.question.line, tuple(answered.question.names)) == ("resume all", (guarded.sequence,))
    switch = await guarded.store.incidents.undone(nonce, "ann")
    assert switch is not None
    assert switch.rule == "rule"
    assert switch.until == pytest.approx(guarded.clock.now + 24 * HOUR)
    assert await guarded.store.incidents.undone("q_unknown", "ann") is None


async def test_what_a_person_resumes_stays_active_while_the_incident_lasts(guarded: GuardedWorkspace) -> None:
    await guarded.rule(ACTS)
    guarded.sent(100)
    await guarded.bounce(6)
    await guarded.advance()
    guarded.remote.sequences[guarded.sequence]["status"] = "active"
    assert await guarded.advance(3 * HOUR) == []
    assert len(guarded.remote.patched) == 1


async def test_a_new_incident_begins_only_after_the_condition_was_over(guarded: GuardedWorkspace) -> None:
    await guarded.rule("pause sequence when bounces > 4 in 1h")
    guarded.sent(100)
    await guarded.bounce(5)
    assert len(await guarded.advance()) == 1
    guarded.remote.sequences[guarded.sequence]["status"] = "active"
    assert await guarded.advance(2.5 * HOUR) == []
    await guarded.bounce(5, first=100)
    assert len(await guarded.advance()) == 1
    assert len(guarded.remote.patched) == 2


async def test_what_a_person_paused_is_left_alone_and_never_resumed(guarded: GuardedWorkspace) -> None:
    guarded.remote.sequences[guarded.sequence]["status"] = "paused"
    await guarded.rule("pause sequence for 2h when bounces > 4 in 24h")
    guarded.sent(100)
    await guarded.bounce(6)
    (card,) = await guarded.advance()
    assert card.title == "Guardrail rule suggests pausing Q3 founders"
    assert guarded.remote.patched == []
    assert await guarded.store.records.timers("default", "resume") == []


async def test_a_timer_is_forgotten_when_a_person_resumed_elsewhere(guarded: GuardedWorkspace) -> None:
    """Else it would resume what they pause after that."""
    await guarded.rule("pause sequence for 8h when bounces > 4 in 24h")
    guarded.sent(100)
    await guarded.bounce(6)
    (card,) = await guarded.advance()
    assert "until" in card.title
    assert [one.key for one in await guarded.store.records.timers("default", "resume")] == [guarded.sequence]
    await guarded.advance(10 * MINUTE)
    await guarded.watch.release_timers()
    assert await guarded.store.records.timers("default", "resume") != []
    guarded.remote.sequences[guarded.sequence]["status"] = "active"
    await guarded.advance(10 * MINUTE)
    await guarded.watch.release_timers()
    assert await guarded.store.records.timers("default", "resume") == []


async def test_an_unknown_outcome_is_looked_up_and_told_once(guarded: GuardedWorkspace) -> None:
    await guarded.rule(ACTS)
    guarded.sent(100)
    await guarded.bounce(6)
    guarded.remote.cut = 10
    cards = await guarded.advance()
    guarded.remote.cut = 0
    cards += await guarded.advance(10 * MINUTE)
    assert [card.title for card in cards] == ["Guardrail rule paused Q3 founders"]
    assert guarded.remote.sequences[guarded.sequence]["status"] == "paused"
    assert len(await guarded.audit()) == 1


async def test_a_decision_that_was_not_carried_out_before_guard_off_is_void(
    guarded: GuardedWorkspace,
) -> None:
    await guarded.rule(ACTS)
    guarded.sent(100)
    await guarded.bounce(6)
    guarded.remote.fails[guarded.sequence] = 500
    assert await guarded.advance() == []
    await guarded.store.guardrails.switch_off("default", Switch(rule="", by="ann", at=guarded.clock.now))
    guarded.remote.fails.clear()
    cards = await guarded.advance(10 * MINUTE)
    assert [card.title for card in cards] == ["Guardrail rule did not pause Q3 founders"]
    assert guarded.remote.patched == []


BOTH = "pause domain when bounces > 5 in 24h"


async def both_bounce(guarded: GuardedWorkspace) -> str:
    """A rule that pauses two sequences of a domain, of which the service refuses the first; returns the other."""
    other = guarded.remote.add("Spring")
    await guarded.rule(BOTH)
    guarded.sent(100)
    await guarded.bounce(4)
    await guarded.bounce(3, name="Spring", first=100)
    guarded.remote.fails[guarded.sequence] = 500
    assert await guarded.advance() == []
    return other


async def test_a_sequence_that_cannot_be_paused_holds_up_no_other_and_hides_none(
    guarded: GuardedWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guardrail_acts, "ATTEMPTS", 2)
    other = await both_bounce(guarded)
    assert guarded.remote.patched == [(other, "paused")]
    (card,) = await guarded.advance(10 * MINUTE)
    assert card.title == "Guardrail rule paused Spring"
    assert "Not paused, because the service refused: Q3 founders" in card.text
    assert guarded.remote.patched == [(other, "paused")]
    (entry,) = await guarded.audit()
    assert entry.result == f"Spring ({other}) paused"


async def test_what_was_paused_before_guard_off_is_told_with_its_undo(guarded: GuardedWorkspace) -> None:
    other = await both_bounce(guarded)
    await guarded.store.guardrails.switch_off("default", Switch(rule="", by="ann", at=guarded.clock.now))
    (card,) = await guarded.advance(10 * MINUTE)
    assert card.title == "Guardrail rule paused Spring"
    assert card.buttons[0].label == "Undo"
    assert guarded.remote.patched == [(other, "paused")]


async def test_a_rule_that_is_off_or_snoozed_does_nothing(guarded: GuardedWorkspace) -> None:
    await guarded.rule(ACTS)
    off = Switch(rule="rule", by="ann", at=0.0, until=guarded.clock.now + HOUR)
    await guarded.store.guardrails.switch_off("default", off)
    guarded.sent(100)
    await guarded.bounce(6)
    assert await guarded.advance(50 * MINUTE) == []
    assert len(await guarded.advance(20 * MINUTE)) == 1


async def test_a_limit_turns_a_pause_into_a_suggestion_that_says_so(guarded: GuardedWorkspace) -> None:
    other = guarded.remote.add("Spring")
    await guarded.rule("pause sequence when bounces > 4 in 24h, at most 1 a day")
    guarded.sent(100)
    await guarded.bounce(5)
    await guarded.bounce(5, name="Spring", first=100)
    cards = await guarded.advance()
    assert sorted(card.title for card in cards) == [
        "Guardrail rule paused Q3 founders",
        "Guardrail rule suggests pausing Spring",
    ]
    (suggested,) = (card for card in cards if "suggests" in card.title)
    assert "its own limit" in suggested.text[0]
    assert [button.command for button in suggested.buttons] == [f'pause {other} reason "guardrail rule"']


async def test_never_more_sequences_are_held_paused_than_the_rule_allows(guarded: GuardedWorkspace) -> None:
    for name in ("A", "B", "C"):
        guarded.remote.add(name)
    await guarded.rule("pause domain when bounces > 5 in 24h, at most 2 sequences at once")
    guarded.sent(100)
    for number, name in enumerate(("A", "B", "B", "C", "C", "C")):
        await guarded.bounce(1, name=name, first=number)
    (card,) = await guarded.advance()
    assert card.title == "Guardrail rule paused 2 sequences of mail.example"
    assert card.text[1:3] == ("C, B", "Not paused, by the rule's limit: A")
    assert len(guarded.remote.patched) == 2


async def test_rules_wait_and_say_so_when_the_service_cannot_be_read(guarded: GuardedWorkspace) -> None:
    await guarded.rule(ACTS)
    guarded.sent(100)
    await guarded.advance(10 * MINUTE)
    guarded.remote.refuses = 500
    cards = await guarded.advance(40 * MINUTE)
    assert [card.title for card in cards] == ["Guardrails do not pause anything now"]
    assert cards[0].text[0].startswith("The service could not be read since ")
    await guarded.bounce(6)
    assert await guarded.advance(10 * MINUTE) == []
    guarded.remote.refuses = 0
    cards = await guarded.advance(10 * MINUTE)
    assert "Guardrails act again" in {card.title for card in cards}
    assert "Guardrail rule paused Q3 founders" in {card.title for card in cards}


async def test_rules_wait_after_an_outage_of_the_bot_since_late_deliveries_come_together(
    guarded: GuardedWorkspace,
) -> None:
    await guarded.rule(ACTS)
    guarded.sent(100)
    await guarded.advance(10 * MINUTE)
    guarded.clock.now += 5 * HOUR
    await guarded.bounce(6)
    cards = await guarded.advance()
    assert [card.title for card in cards] == ["Guardrails do not pause anything now"]
    assert "the bot's own record has a gap" in cards[0].text[0].replace("The bot's", "the bot's")
    assert guarded.remote.patched == []


async def test_a_rule_of_somebody_who_lost_the_right_to_pause_only_suggests(
    guarded: GuardedWorkspace,
) -> None:
    async def nobody(user: str, channel: str) -> bool:
        assert (user, channel) == ("U1", CHANNEL)
        return False

    strict = GuardrailWatch(guarded.store, guarded.contexts, planned=lambda: None, permitted=nobody)
    await guarded.rule(ACTS, by="U1")
    guarded.sent(100)
    await guarded.sampler.sample()
    await guarded.bounce(6)
    await strict.check()
    (card,) = await guarded.posted_cards()
    assert card.title == "Guardrail rule suggests pausing Q3 founders"
    assert "@ann, who added it, may no longer pause sequences" in card.text[0]
    assert guarded.remote.patched == []


async def test_two_watches_on_one_database_act_and_tell_once(guarded: GuardedWorkspace) -> None:
    await guarded.rule(ACTS)
    guarded.sent(100)
    await guarded.sampler.sample()
    await guarded.bounce(6)
    other = GuardrailWatch(guarded.store, guarded.contexts, planned=lambda: None, permitted=None)
    await guarded.watch.check()
    await other.check()
    await guarded.watch.check()
    assert len(await guarded.posted_cards()) == 1
    assert len(guarded.remote.patched) == 1


async def test_a_suggestion_is_one_card_and_pauses_nothing(guarded: GuardedWorkspace) -> None:
    await guarded.rule("suggest pausing domain for 4h when bounces > 5 in 24h")
    guarded.sent(100)
    await guarded.bounce(6)
    (card,) = await guarded.advance(30 * MINUTE)
    assert [button.command for button in card.buttons] == [
        'pause domain:mail.example for 4h reason "guardrail rule"'
    ]
    assert guarded.remote.patched == []


async def test_days_that_are_over_are_read_once_and_known_to_backtests(guarded: GuardedWorkspace) -> None:
    yesterday = datetime.fromtimestamp(guarded.clock.now - 24 * HOUR, UTC).date().isoformat()
    guarded.remote.stats["sequence", yesterday] = [{"group": guarded.sequence, "sends": 120, "replies": 3}]
    for _ in range(4):
        await guarded.sampler.sample()
    assert len(await guarded.store.guardrails.closed_days("default")) == 30
    samples = await guarded.store.guardrails.samples("default", 0.0)
    assert [(one.key, one.sends) for one in samples if one.sends] == [("Q3 founders", 120)]


async def test_old_counts_are_thinned_to_one_an_hour(guarded: GuardedWorkspace) -> None:
    guarded.sent(10)
    for number in range(12):
        guarded.sent(10 + number)
        await guarded.sampler.sample()
        guarded.clock.now += 5 * MINUTE
    before = [one for one in await guarded.store.guardrails.samples("default", 0.0) if one.sends]
    guarded.clock.now += 4 * 24 * HOUR
    await guarded.store.guardrails.prune()
    after = [one for one in await guarded.store.guardrails.samples("default", 0.0) if one.sends]
    assert len(before) == 8
    assert [one.sends for one in after if one.scope == "sequence"] == [21]


async def test_an_undo_that_a_person_clicks_resumes_through_the_usual_way(guarded: GuardedWorkspace) -> None:
    await guarded.rule(ACTS)
    guarded.sent(100)
    await guarded.bounce(6)
    (card,) = await guarded.advance()
    nonce = card.buttons[0].command.removeprefix("undo ")
    answered = await guarded.store.confirmations.answer(nonce, ANN.id)
    assert answered.question is not None
    context = guarded.contexts.at(guarded.contexts.settings.workspace("default"), ANN)
    done = await BulkPause(guarded.store).carry_out(
        answered.question, parse(answered.question.line), context=context
    )
    assert "active again" in done.title
    assert guarded.remote.sequences[guarded.sequence]["status"] == "active"
    assert len(guarded.remote.patched) == 2
