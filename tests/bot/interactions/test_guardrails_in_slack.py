"""A guardrail in Slack, from its question to its Undo."""

from __future__ import annotations

import json
from typing import Any

from bot.alerts.guardrail_cards import UNDO_HINT, notice, paused, suggestion
from bot.alerts.rendering import write_note
from sandbox.slack import seed
from shared.guardrails.sentence import parse as parse_rule
from shared.records.audit import Actor, AuditEntry, Before
from shared.records.guardrails import Incident
from shared.store.alerts.incidents import Claim
from shared.store.queue.outbox import PlannedPost
from tests.bot.harness import CHANNEL, BotHarness
from tests.kit.clock import moment
from tests.waiting import until


async def test_a_rule_that_pauses_is_asked_about_with_its_backtest_and_counts_once(bot: BotHarness) -> None:
    line = "guard add pause sequence when bounces &gt; 5% of at least 200 sends in 24h as mine"
    (asked,) = await bot.say(line, user=seed.BEN.id)
    assert "Let mine pause without asking?" in json.dumps(asked)
    assert "Nothing is known of bounces yet" in json.dumps(asked)
    assert "mine" not in json.dumps(await bot.say("guard", user=seed.BEN.id))
    at = {"channel": asked["channel"], "ts": asked["ts"], "user": seed.BEN.id, "wait": 5}
    done = await bot.control("click", text="Turn on", **at)
    assert "Guardrail mine is on" in json.dumps(done["answers"])
    assert "mine" in json.dumps(await bot.say("guard", user=seed.BEN.id))
    assert "guardrail mine: pause sequence when bounces" in json.dumps(await bot.say("audit"))


async def test_the_list_is_for_all_and_switching_off_is_not(bot: BotHarness) -> None:
    (listed,) = await bot.say("guard", user=seed.GUS.id)
    assert "Open form" not in json.dumps(listed)
    assert "don't have permission" in json.dumps(await bot.say("guard off", user=seed.GUS.id))


async def test_the_card_of_a_pause_says_who_undid_it_and_loses_its_undo(bot: BotHarness) -> None:
    assert bot.running
    store = bot.running.store
    before = {name: Before(label=name, status="active") for name in ("sq_1", "sq_2")}
    entry = AuditEntry(
        at=moment(), actor=Actor(name="guardrail mine", face="bot"), workspace="default", command="pause",
        result="paused", effect="paused", sequences=tuple(before), undoable=before,
    )  # fmt: skip
    undo = await store.records.record(entry)
    rule = "pause domain when bounces > 8% of at least 50 sends in 24h"
    incident = Incident(
        id=1, workspace="default", rule="mine", sentence=rule, action="pause", subject="acme.example",
        label="acme.example", began_at=0.0, held_at=0.0, note="8.3% ± 6.3 bounces (10 of 121 sends) in 24h",
    )  # fmt: skip
    card = paused(incident, ("Q3 founders", "Spring"), undo=undo)
    post = PlannedPost(dedupe="guard:1", channel=CHANNEL, kind="note", note=write_note(card), undo=undo)
    await store.outbox.plan("default", post)
    bot.running.signals.changed()
    shown = await bot.public_message("Guardrail mine paused 2 sequences of acme.example: 8.3%")
    assert UNDO_HINT in json.dumps(shown)
    await store.records.take_undo(undo, "ann")

    async def ended() -> bool:
        (message,) = [one for one in await bot.messages() if one["ts"] == shown["ts"]]
        drawn = json.dumps(message["blocks"])
        return "Undone by @ann" in drawn and "Test the rule" in drawn and "ndo r" not in drawn

    await until(ended)


async def test_the_button_of_a_suggestion_asks_for_the_permission_of_who_clicks(bot: BotHarness) -> None:
    rule = parse_rule("suggest pausing sequence when bounces > 5% of at least 200 sends in 24h")
    card = suggestion("mine", rule, "Q3 founders", "6.0% bounces", target="Q3 founders")
    claim = Claim(
        workspace="default", rule="mine", sentence=str(rule), action=rule.action, subject="q3 founders",
        label="Q3 founders", note="6.0% bounces",
    )  # fmt: skip
    post = PlannedPost(dedupe="guard:1", channel=CHANNEL, kind="note", note=write_note(card))
    assert bot.running
    assert (await bot.running.store.incidents.begin(claim, post)).incident
    message = await bot.public_message("suggests pausing Q3 founders")
    at = {"channel": message["channel"], "ts": message["ts"], "text": "Pause sequence", "wait": 5}
    refused = await bot.control("click", user=seed.GUS.id, **at)
    assert "don't have permission" in json.dumps(refused["answers"])
    tried = await bot.control("click", user=seed.BEN.id, **at)
    assert "permission" not in json.dumps(tried["answers"])
    assert tried["answers"]


async def test_a_guardrails_card_snoozes_its_rule_and_turns_it_off_after_confirmation(
    bot: BotHarness,
) -> None:
    await bot.say("guardrails add notify about inbox when health &lt; 40 as mine", user=seed.BEN.id)
    rule = parse_rule("notify about inbox when health < 40")
    card = notice("mine", rule, "ann@mail.example", "health 31")
    assert card.buttons[0].line == "inboxes ann@mail.example"
    assert bot.running
    note = PlannedPost(dedupe="guard:1", channel=CHANNEL, kind="note", note=write_note(card))
    await bot.running.store.outbox.plan("default", note)
    message = await bot.public_message("Guardrail mine fired for inbox ann@mail.example")
    at = {"channel": message["channel"], "ts": message["ts"], "wait": 5}
    refused = await bot.control("click", user=seed.GUS.id, text="Snooze 24 h", **at)
    assert "don't have permission" in json.dumps(refused["answers"])
    await bot.control("click", user=seed.BEN.id, text="Snooze 24 h", **at)
    await bot.public_message("Guardrail mine is snoozed until")
    (off,) = (one for one in _elements(message) if one["text"]["text"] == "Turn rule off")
    assert off["confirm"]["title"]["text"] == "Turn mine off?"
    await bot.control("click", user=seed.BEN.id, text="Turn rule off", **at)
    await bot.public_message("Guardrail mine is off")
    (still,) = await bot.say("guardrails snooze mine for 1h", user=seed.BEN.id)
    assert "Guardrail mine is off" in still["text"]
    assert [one.until for one in await bot.running.store.guardrails.switches("default")] == [None]


def _elements(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        one for block in message["blocks"] for one in block.get("elements", ()) if one["type"] == "button"
    ]
