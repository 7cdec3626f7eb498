"""The bot's own cards in their main states: reminders, spikes, guardrails, confirmations, Home."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.alerts import guardrail_cards, kinds, spike
from bot.alerts.model import Mark
from bot.commands import canned_replies, confirmation_cards
from bot.commands.alerts import alert_actions, assignment
from bot.commands.command_help import with_form
from bot.delivery import channel_health
from bot.interactions import specimens
from bot.jobs import auto_resume, reminders, unacknowledged
from bot.slack import permissions
from bot.slack.permissions import Person
from bot.store.alerts.confirmations import Answered, Verdict
from bot.store.alerts.sequence_changes import DueTimer
from bot.store.alerts.spikes import Subject
from bot.store.queue.alert_row import AlertRow, Due
from shared.api.event_kinds import EVENTS, PAUSED
from shared.commands import Role, help_card
from shared.domain.alert_settings import SpikeRule
from shared.domain.card import Card
from shared.domain.evidence import Rate
from shared.guardrails import sentence
from shared.records.audit import Actor, AuditEntry
from shared.records.guardrails import Incident
from shared.records.sequence_changes import Timer

NOW = datetime(2026, 11, 22, 14, 5, tzinfo=UTC)
ANN = Person(id="U1", name="ann", zone="UTC")
BODY = json.dumps(
    {"event": "reply.interested", "sequence": "Q3 founders", "step": 2, "reply": "Can we talk on Tuesday?",
     "lead": {"email": "ada@acme.example", "first_name": "Ada", "last_name": "Lovelace", "company": "Acme"}}
).encode()  # fmt: skip
AWAY = BODY.replace(b"reply.interested", b"reply.ooo")


def alerts() -> Mapping[str, Card]:
    """Alerts in every state, and what is posted about them later."""
    found = {
        name: card for name, card in specimens.alerts(NOW).items() if specimens.LONG[:20] not in repr(card)
    }
    for kind in EVENTS:
        one = specimens.alert_of_kind(kind, NOW, specimens.SHORT)
        found[kind], found[f"{kind}, condensed"] = kinds.card(one), kinds.condensed(one)
    paused = specimens.alert_of_kind(PAUSED, NOW - timedelta(hours=2), specimens.SHORT)
    found["paused domain, acknowledged"] = kinds.card(replace(paused, acknowledged=Mark(name="ann", at=NOW)))
    found["paused domain, reported again"] = kinds.again(paused, at=NOW)
    found["reply, updated"] = kinds.turned(specimens.alert_of_kind("lead.replied", NOW, specimens.SHORT))
    return {**found, **dict(_reminders()), **dict(_spikes())}


def _due(what: str, body: bytes = BODY) -> Due:
    alert = AlertRow(
        id="al_1", workspace="acme", kind=json.loads(body)["event"], snoozed_name="ann", body=body,
        waiting_since=NOW.timestamp() - 1800, received_at=NOW.timestamp() - 1800,
        claimed_by="U1", claimed_name="ann", claimed_at=NOW.timestamp() - 7200,
    )  # fmt: skip
    return Due(alert=alert, channel="C1", what=what, round=1)


def _reminders() -> Iterator[tuple[str, Card]]:
    now = NOW.timestamp()
    for what in ("remind", "escalate", "back", "unfinished"):
        yield f"reminder: {what}", reminders.reminder_card(_due(what), now=now)
        yield f"reminder: {what}, six together", reminders.summary_card([_due(what)] * 6, now=now)
    yield "reminder: out of office", reminders.reminder_card(_due("back", AWAY), now=now)
    yield (
        "reminder: paused domain",
        unacknowledged.reminder_card(
            Due(
                alert=AlertRow(id="al_2", workspace="acme", domain="mail.example", received_at=now - 3600),
                channel="C1", what="unacknowledged",
            ),
            now=now,
        ),
    )  # fmt: skip
    ended = DueTimer(
        id=1, token=1, workspace="acme", attempts=1,
        timer=Timer(kind="resume", key="sq_1", due_at=NOW,
                    payload={"name": "Q3 founders", "by": "ann", "reason": "bounces are high"}),
    )  # fmt: skip
    yield "pause ended", auto_resume.resumed_card(auto_resume.Tally(done=[ended], resumed=[ended]))
    yield (
        "two pauses ended",
        auto_resume.resumed_card(auto_resume.Tally(done=[ended] * 2, resumed=[ended] * 2)),
    )
    yield (
        "pause ended, sequence deleted",
        auto_resume.resumed_card(auto_resume.Tally(done=[ended], gone=[ended])),
    )


def _spikes() -> Iterator[tuple[str, Card]]:
    rule, since = SpikeRule(), NOW.timestamp() - 1200
    bounces = spike.Figure(kind="lead.bounced", count=14, share=Rate(part=14, sends=180))
    opt_outs = spike.Figure(kind="lead.unsubscribed", count=6, share=None, spikes=False)
    domain, sequence = (
        Subject(scope="domain", name="mail.example"),
        Subject(scope="sequence", name="Q3 founders"),
    )
    yield (
        "spike of a domain",
        spike.spike_card(
            domain,
            (bounces, opt_outs),
            rule=rule,
            since=since,
            workspace="acme",
            sequences=(("Q3 founders", 14),),
        ),
    )
    yield (
        "spike of a sequence",
        spike.spike_card(sequence, (replace(opt_outs, spikes=True),), rule=rule, since=since),
    )
    yield "spike, merged", spike.merged_card(sequence, ["lead.bounced"], onto="mail.example")
    yield "spike, over", spike.over_card(domain, ["lead.bounced"], since=since, now=NOW.timestamp())


def guardrails() -> Iterator[tuple[str, Card]]:
    """What guardrails post."""
    rule = sentence.parse("pause sequence for 4h when bounces > 5% of at least 50 sends in 24h")
    incident = Incident(
        id=1, workspace="acme", rule="bounces-5", sentence=str(rule), action="pause", subject="q3 founders",
        label="Q3 founders", began_at=NOW.timestamp(), held_at=NOW.timestamp(),
        note="6 bounces in 100 sends (6.0%) in 24 h. Limit: 5%", resumes_at=NOW.timestamp() + 14_400,
    )  # fmt: skip
    yield "guardrail paused", guardrail_cards.paused(incident, ["Q3 founders"], undo="q_1")
    yield (
        "guardrail paused several",
        guardrail_cards.paused(
            replace(incident, label="mail.example", resumes_at=None), ["Q3 founders", "Spring"],
            undo="q_1", left=["Autumn"], failed=["Winter"],
        ),
    )  # fmt: skip
    yield (
        "guardrail did not pause",
        guardrail_cards.not_paused(incident, "Someone else had already paused it.", failed=False),
    )
    yield "guardrail suggests", guardrail_cards.suggestion(
        "bounces-5", rule, "Q3 founders", incident.note, target="sq_1",
        why="Only a suggestion: the rule has reached its limit of 3 a day.",
    )  # fmt: skip
    yield "guardrail notifies", guardrail_cards.notice("health-60", rule, "Q3 founders", incident.note)
    yield "guardrails wait", guardrail_cards.waiting(["bounces-5"], "the counts are 40 min old")
    yield "guardrails can pause again", guardrail_cards.trusted_again()


def exchanges() -> Iterator[tuple[str, Card]]:
    """What clicks, confirmations and refusals answer."""
    yield "greeting", canned_replies.GREETING
    for name, card in (("outdated button", canned_replies.UNKNOWN),
                       ("line that needs an alert", canned_replies.WHICH_ALERT), ("unknown sender", canned_replies.NOBODY),
                       ("alert deleted", alert_actions.GONE)):  # fmt: skip
        yield name, card
    claim = AlertRow(id="al_1", workspace="acme", body=BODY)
    taken = replace(claim, claimed_by="U2", claimed_name="ben", claimed_at=NOW.timestamp() - 60)
    for verb in ("claim", "takeover", "release", "wake", "done", "dismiss", "reopen"):
        yield f"after {verb}", alert_actions.changed_card(verb, claim, Actor(name="ann"), until=NOW, now=NOW)
    for name, state in (("claimed by another", taken), ("claimed by yourself", replace(taken, claimed_by="U1")),
                        ("done already", replace(taken, handled_name="ben", handled_at=NOW.timestamp())),
                        ("changed by someone else", claim)):  # fmt: skip
        yield name, alert_actions.unchanged_card(state, ANN, now=NOW, zone=UTC)
    yield "snooze", alert_actions.snooze_choices("al_1", now=NOW, zone=UTC)
    yield "not interested", alert_actions.reason_choices("al_1")
    yield "whole reply", alert_actions.whole_reply(claim)
    yield "assign", assignment.choice(claim)
    yield "assign, claimed by another", assignment.choice(taken)
    yield "assign, no such person", assignment.nobody("@an", claim, [("U1", "ann")])
    yield "assign, not possible", assignment.refused("@gus is a guest, and can't claim replies.", claim)
    yield (
        "assigned by another",
        alert_actions.unchanged_card(replace(taken, assigned_name="cleo"), ANN, now=NOW, zone=UTC),
    )
    entry = AuditEntry(at=NOW, actor=Actor(name="ben", face="slack"), workspace="acme", command="resume sq_1",
                       result="Q3 founders is active again",
                       effect="resumed", sequences=("sq_1",))  # fmt: skip
    for verdict in (Verdict.LATE, Verdict.GIVEN, Verdict.NOT_YOURS, Verdict.UNKNOWN):
        yield (
            f"confirmation: {verdict}",
            confirmation_cards.not_confirmed(Answered(verdict=verdict), now=NOW, zone=UTC).card,
        )
    moved = Answered(verdict=Verdict.MOVED, moved={"sq_1": entry})
    yield "undo after a later change", confirmation_cards.not_confirmed(moved, now=NOW, zone=UTC).card
    guest = Person(id="U3", name="eve", is_guest=True)
    yield "no permission, guest", permissions.refusal(guest, "“pause”")
    yield "no permission, role", permissions.refusal(ANN, "“doctor”", needed=Role.ADMIN, can="Who can: @ben.")
    yield "no permission, channel", permissions.refusal(ANN, "“pause”", here=True)
    for error in ("not_in_channel", "is_archived", "channel_not_found", "token_revoked", "fatal_error"):
        yield f"channel rejects posts: {error}", channel_health._broken("#sales", error)
    yield "channel accepts posts again", channel_health._recovered("#sales")
    yield "help with a form", with_form(help_card("pause"), "pause")


def views() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Forms, modals and Home."""
    answers = {"answer": alert_actions.reason_choices("al_1")}
    for one in specimens.views(NOW, answers, [], long=False):
        if one.view:
            yield one.name, one.view
