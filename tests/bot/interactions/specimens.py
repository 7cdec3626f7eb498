"""A sample of everything that the bot shows, which the rules for blocks are held against.

Alert cards in every state, answers, modals and Home: short ones, and ones in which every text is too long.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.alerts import domains, kinds, rendering
from bot.alerts.model import Alert, Mark
from bot.blockkit import actions, card_blocks
from bot.blockkit.elements import Block
from bot.commands import canned_replies
from bot.commands.answer import Answer
from bot.interactions import forms, home_view
from bot.interactions.forms import FormRequest
from bot.interactions.home_view import HomeState, Paused, Waiting
from bot.interactions.responders import render_answer
from shared.api.errors import Unauthorized
from shared.api.event_kinds import DNS, EVENTS, INTERESTED, PAUSED
from shared.api.events import Event, EventLead
from shared.api.models import Inbox
from shared.commands.errors import error_card
from shared.commands.leads import Lead
from shared.commands.pause import Pause
from shared.commands.undo import UndoChange
from shared.domain.card import Button, Card, Column, Fact, Row, Table, Tone
from shared.domain.health import DEFAULT, roll_up
from shared.domain_health.report import Action, Advice, Check, CheckReport, Code, DomainChange, Value

SHORT, LONG = "Ada Lovelace", "Ada <!channel> & Söhne " * 300
MANY = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Specimen:
    """A message, as its blocks, or a view."""

    name: str
    blocks: list[Block] | None = None
    view: dict[str, Any] | None = None


def specimens(now: datetime) -> Iterator[Specimen]:
    """All of them; `now` is the moment that they speak of."""
    cards = {**alerts(now), **answers(now)}
    for name, card in cards.items():
        yield Specimen(name=name, blocks=card_blocks.render(card).blocks)
    listed = list(cards.values())[:20]
    yield Specimen(name="list of alerts", blocks=card_blocks.render_list(listed).blocks)
    yield Specimen(name="list with buttons", blocks=card_blocks.render_with(listed[0], listed[1:8]).blocks)
    yield Specimen(name="line of an alert", blocks=card_blocks.render_condensed(listed[0]).blocks)
    changed = Card(
        title="Q3 founders paused",
        text=("By @ann.",),
        buttons=(Button(label="Undo", action=UndoChange(change=1)),),
    )
    yield Specimen(name="line of a change", blocks=render_answer(Answer(card=changed, public=True)).blocks)
    called = rendering.with_mention(card_blocks.render(listed[0]), "here")
    yield Specimen(name="alert with a mention", blocks=called.blocks)
    noted = card_blocks.with_note(card_blocks.render(listed[0]), "⏳ Working on it for @ann …")
    yield Specimen(name="alert while a click is carried out", blocks=noted.blocks)
    modals = {name: cards[name] for name in ("stats", "longest text")}
    yield from views(now, modals, listed[:3], long=True)


def alerts(now: datetime) -> dict[str, Card]:
    ann, later = Mark(name="ann", at=now), Mark(name="ann", at=now + timedelta(days=1))
    states: dict[str, dict[str, Any]] = {
        "new": {},
        "reminded": {"nudges": 1},
        "escalated": {"nudges": 2},
        "claimed": {"claim": ann},
        "assigned": {"claim": ann, "assigned_by": "ben"},
        "snoozed": {"snooze": later},
        "done": {"claim": ann, "handled": ann},
        "sequence paused": {"standing": {"sequence": "paused"}},
        "received three times": {"seen": 3, "found": True, "workspace": "emea"},
    }
    found = {}
    for state, changes in states.items():
        for length, words in (("", SHORT), (", long", LONG)):
            alert = replace(alert_of_kind(INTERESTED, now, words), **changes)
            found[f"interested reply, {state}{length}"] = kinds.card(alert)
    for kind in EVENTS:
        alert = alert_of_kind(kind, now, LONG)
        found |= {f"{kind}": kinds.card(alert), f"{kind}, condensed": kinds.condensed(alert)}
    for status in ("resting", "warming", "active"):
        standing = domains.domain_state(_inboxes(status), before={}, thresholds=DEFAULT)
        paused = replace(alert_of_kind(PAUSED, now, SHORT), standing=standing)
        found[f"paused domain, inboxes {status}"] = kinds.card(paused)
    found["paused domain, recovered"] = kinds.card(
        replace(alert_of_kind(PAUSED, now, SHORT), recovered_at=now, standing={})
    )
    return found


def alert_of_kind(kind: str, now: datetime, words: str) -> Alert:
    """An alert whose every field has a value: those of an example, or `words` again and again."""
    if words == SHORT:
        event = Event(kind=kind, **(_LEAD if kind not in {PAUSED, DNS} else {}), **_OF_KIND.get(kind, {}))
        return Alert(id="al_00000000000000000001", event=event, received_at=now - timedelta(minutes=4))
    event = Event(
        kind=kind,
        lead=EventLead(email="ada@acme.example", first_name=words, company=words),
        sequence=words[:200],
        step=2,
        reply=words,
        inbox="sam@mail.example",
        domain="mail.example",
        reason=words,
        return_date="2026-12-01",
        bounce_type="hard",
    )
    return Alert(id="al_00000000000000000001", event=event, received_at=now)


_LEAD: dict[str, Any] = {
    "lead": EventLead(email="ada@acme.example", first_name="Ada", last_name="Lovelace", company="Acme"),
    "sequence": "Q3 founders",
    "step": 2,
    "inbox": "sam@mail.example",
}
_SPF = CheckReport(
    check=Check.SPF,
    value=Value.PROBLEM,
    code=Code.SEVERAL,
    count=2,
    records=("v=spf1 include:_spf.google.com ~all", "v=spf1 ip4:192.0.2.0/24 -all"),
    advice=Advice(
        action=Action.MERGE,
        name="mail.example",
        value="v=spf1 include:_spf.google.com ip4:192.0.2.0/24 ~all",
    ),
    confirmed=True,
)
_SECOND_RECORD = json.loads(
    domains.dns_body(
        "mail.example",
        [
            DomainChange(
                domain="mail.example",
                check=Check.SPF,
                at=datetime(2026, 11, 22, 14, 2, tzinfo=UTC),
                before=CheckReport(
                    check=Check.SPF, value=Value.GOOD, code=Code.FINE, records=_SPF.records[:1]
                ),
                after=_SPF,
            )
        ],
        0.0,
    )
)
_OF_KIND: dict[str, dict[str, Any]] = {
    INTERESTED: {"reply": "Sounds interesting. Can we talk on Tuesday?"},
    DNS: {"domain": "mail.example", "raw": _SECOND_RECORD},
    PAUSED: {"domain": "mail.example", "inbox": "sam@mail.example", "reason": "bounce rate above 5%"},
    "lead.replied": {"reply": "Not now, try again next quarter."},
    "reply.ooo": {"reply": "I'm out of office until December 1.", "return_date": "2026-12-01"},
    "lead.bounced": {"bounce_type": "hard"},
    "lead.unsubscribed": {},
}


def _inboxes(status: str) -> list[Inbox]:
    scores = (("ann", 62.0), ("sam", 88.5), ("eve", None))
    return [
        Inbox(email=f"{name}@mail.example", health_score=score, daily_limit=40, status=status)
        for name, score in scores
    ]


def answers(now: datetime) -> dict[str, Card]:
    buttons = (
        Button(label="Pause", action=Pause(target=("sq_1",)), tone=Tone.BAD),
        Button(label="Snooze until …", action=actions.OnAlert(verb="snooze", alert="al_1"), picks_time=True),
        Button(label="Assign to …", action=actions.OnAlert(verb="assign", alert="al_1"), picks_person=True),
        Button(label="Open", url="https://app.example/leads/1"),
        *(Button(label=f"More {n}", action=Lead(who=f"ld_{n}"), menu=True) for n in range(9)),
    )
    facts = tuple(
        Fact(label=f"Fact {n}", value=SHORT, tone=Tone.WARN, at=now if n % 2 else None) for n in range(25)
    )
    return {
        "stats": Card(title="Stats", table=_table(6)),
        "digest": Card(title="Digest", facts=facts, table=_table(12), buttons=buttons),
        "longest table": Card(title=LONG, table=_table(MANY), footer=LONG),
        "longest text": Card(title=LONG, text=(LONG,) * 12, facts=facts, quote=LONG, buttons=buttons, footer=LONG),
        "question": Card(title="Pause 12 sequences?", text=("They stop sending.",), buttons=buttons),
        "error": error_card(Unauthorized("The API key is revoked"), "ref-00000000"),
        "greeting": canned_replies.GREETING,
        "outdated button": canned_replies.UNKNOWN,
    }  # fmt: skip


def _table(rows: int) -> Table:
    columns = (Column(title="Group"), Column(title="Sends", numeric=True), Column(title="", bar=True))
    tones = list(Tone)
    lines = (
        Row(
            cells=(f"{SHORT} {n}" if n % 3 else LONG, None if n % 7 == 6 else 1234.5 * n, n / rows),
            tone=tones[n % 5],
        )
        for n in range(rows)
    )
    return Table(columns=columns, rows=tuple(lines), total=rows * 2)


def views(now: datetime, answers: Mapping[str, Card], items: list[Card], *, long: bool) -> Iterator[Specimen]:
    """Forms, modals with these answers and items, and Home: with two of everything, or with too much."""
    lead, name, problem = (LONG,) * 3 if long else (SHORT, "Q3 founders", "The service can't be reached")
    many = MANY if long else 2
    several = FormRequest(channel="C0000000001", workspace="emea", workspaces=("emea", "apac"))
    for verb in ("pause", "subscribe", "add"):
        yield Specimen(name=f"form: {verb}", view=forms.form_view(verb, FormRequest(channel="C0000000001")))
        yield Specimen(name=f"form: {verb}, several workspaces", view=forms.form_view(verb, several))
    for modal, card in {"working": canned_replies.ON_ITS_WAY, **answers}.items():
        yield Specimen(name=f"modal: {modal}", view=forms.answer_view(card, items=items))
    yield Specimen(name="Home: loading", view=home_view.loading())
    yield Specimen(name="Home: closed", view=home_view.closed(canned_replies.OUTSIDE))
    yield Specimen(name="Home: unknown person", view=home_view.closed(canned_replies.UNKNOWN_PERSON))
    nothing = HomeState(now=now, workspaces=("acme",), viewed_workspace="acme")
    waiting = Waiting(
        alert="al", lead=lead, sequence=name, since=now - timedelta(minutes=12), workspace="acme",
        link="https://x.example/1",
    )  # fmt: skip
    paused = Paused(domain="mail.example", since=now - timedelta(hours=3), workspace="acme")
    full = replace(
        nothing,
        waiting=[replace(waiting, alert=f"al_{n}") for n in range(min(many // 4 + 1, home_view.UNCLAIMED))],
        unclaimed={"acme": many // 4 + 1},
        claims=[replace(waiting, alert=f"al_{n}_claimed") for n in range(many // 4 + 1)],
        paused=[replace(paused, domain=f"mail{n}.example") for n in range(many // 12 + 1)],
        domains={"acme": roll_up(_inboxes("resting"))},
    )  # fmt: skip
    states = {
        "nothing known": replace(nothing, problem=problem),
        "empty account": replace(nothing, domains={"acme": ()}),
        "one workspace": full,
        "one workspace, a reader": replace(full, may_change=False),
        "many workspaces": replace(
            full, workspaces=tuple(f"client-{n}" for n in range(many)), viewed_workspace=""
        ),
    }
    for home, state in states.items():
        yield Specimen(name=f"Home: {home}", view=home_view.view(state))
