"""What people see of every alert, pause, guardrail and domain in each state: `--snapshot-update` accepts a change."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from bot import blockkit as card_blocks
from bot import cards, delivery
from bot.blockkit import Message, OnAlert
from bot.cards import CardSettings, details_card, listed
from bot.guardrails import _card, finding_card, over_card, paused_card, together_card
from bot.interactions import listeners
from bot.jobs.due import ended_card, reminder_card, summary_card
from sandbox.slack import blockkit
from shared import commands
from shared.api.errors import NotFound, Unauthorized
from shared.api.events import Event, EventLead
from shared.api.models import Inbox
from shared.api.models import Sequence as Campaign
from shared.commands.errors import error_card
from shared.commands.pause import Pause
from shared.commands.undo import UndoChange
from shared.domain.alert import Alert
from shared.domain.card import Button, Card, Typed
from shared.domain.event_kinds import DNS, PAUSED
from shared.domain.health import DEFAULT
from shared.domain_health.report import (
    CheckReport,
    Code,
    DomainChange,
    DomainReport,
    Value,
    encode,
)  # fmt: skip
from shared.records import Actor, AuditEntry, Before, Incident, Now
from shared.store.alerts import Due
from shared.store.messages import Post
from tests.kit.picture import notification, picture

PAUSE = Event(kind=PAUSED, domain="mail.example", reason="bounce_rate")
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
END = (NOON + timedelta(hours=4, minutes=31)).timestamp()
MONDAY = (NOON + timedelta(days=3)).timestamp()
HOSTILE = "<!here> *Fintech* :tada: `ops` <https://bank.example|a form>"
TELLS = "notify about domain when bounces > 5 in 1h"
RULE = "pause sequence for 4h when bounces > 10 in 1h"
BEN = Actor(name="ben", id="U1", face="slack")


REPLY = "Yes, Thursday works.\n\n<!channel> <https://bank.example|a form> *bold*\n\nOn Tue, Sam wrote:\n> Do you have time?\n> Sam"
AT = (NOON + timedelta(minutes=3)).timestamp()
CLAIMED: dict[str, Any] = {"claimed_by": "U1", "claimed_name": "ann", "claimed_at": AT}
DONE: dict[str, Any] = {"handled_name": "ann", "handled_at": AT}
SNOOZED: dict[str, Any] = {"snoozed_name": "ben", "snoozed_until": AT}
CARDS = CardSettings(public_url="https://bot.example.com", secrets=("secret",))
STATES: dict[str, dict[str, Any]] = {
    "unclaimed": {},
    "unclaimed, without a public address": {"mail_link": ""},
    "its turn is somebody's": {"rota": "sales", "owner": "U1", "owner_name": "ann", "waiting_since": 1.0},
    "reminded": {"nudges": 1},
    "escalated, found late, of a workspace": {"nudges": 2, "found": True, "workspace": "emea"},
    "snoozed": SNOOZED,
    "claimed": CLAIMED,
    "assigned, with a reminder": {
        **CLAIMED,
        **SNOOZED,
        "assigned_name": "ben",
    },
    "done": {**CLAIMED, **DONE},
    "not interested": {**DONE, "closed_reason": "no budget"},
}


def alert(kind: str = "reply.interested", **state: Any) -> Alert:
    """An alert of a lead, and what has become of it; the fields of the event as `event=…`."""
    lead = EventLead(
        email="ada@acme.example", first_name="Ada", last_name="Lovelace", company="Acme", title="CTO"
    )
    given = {"reply": REPLY, **state.pop("event", {})}
    event = Event(kind=kind, lead=lead, sequence="Q3 founders", step=2, inbox="s@mail.example", **given)
    at = NOON.timestamp()
    with_link = CARDS.on_card(Alert(id="al_1", event=Event(kind=kind, lead=lead), received_at=at))
    return replace(with_link, **{"event": event, **state})


def whole(kind: str = "reply.interested", **state: Any) -> Message:
    return card_blocks.render(cards.card(alert(kind, **state)))


POST = Post(
    id=1, dedupe="", tried_until=None, workspace="default", channel="C1", kind="alert", alert_id="al_1", note="",
    bundle="", thread_ts="1.0", ts="2.0", version=0, created_at=0.0, condensed=False, mention="",
)  # fmt: skip


def posted(kind: str, *alerts: Alert, note: Card | None = None, mention: str = "S1") -> Message:
    """A message of the bot about these alerts."""
    noted = {
        "note": cards.write_note(note) if note else "",
        "condensed": note is not None,
        "mention": mention,
    }
    posts = [
        replace(POST, id=n, kind=kind, alert_id=one.id, alert=one, **noted)  # type: ignore[arg-type] # one each
        for n, one in enumerate(alerts)
    ]
    return cards.message(posts, CardSettings())


def reminder(what: str, kind: str, **state: Any) -> Message:
    """A reminder that mentions somebody, and what became of its alert since."""
    due = Due(alert=alert(waiting_since=1.0, snoozed_name="ben"), channel="C1", what=what, mention="S1")
    card = reminder_card(due, now=NOON.timestamp() + 360, cards=CardSettings())
    return posted(kind, alert(**{"waiting_since": 1.0, **state}), note=card)


def entry(*labels: str, by: Actor = BEN, until: float | None = END, **more: Any) -> AuditEntry:
    """A pause of sequences with these names."""
    before = {
        f"sq_{n}": Before(label=label, status="active", new_end=until) for n, label in enumerate(labels)
    }
    given = {"effect": "paused", "undoable": before, "number": 7, **more}
    return AuditEntry(at=NOON, actor=by, workspace="default", command="pause", result="", **given)


def later(one: AuditEntry, *states: Now | None) -> AuditEntry:
    """The change, after its sequences were changed again."""
    pairs = zip(one.undoable.items(), states, strict=True)
    undoable = {name: replace(before, later=state) for (name, before), state in pairs}
    return replace(one, undoable=undoable, overtaken_by="" if None in states else "ann")


def line(one: AuditEntry, **card: Any) -> Message:
    return cards.change_message(one, Card(title="", **card))


INCIDENT = Incident(
    id=1, workspace="default", rule="many", sentence=RULE, action="act", subject="fintech", label="Fintech",
    note="12 bounces in 1 h. Limit: 10", began_at=0.0, held_at=0.0, resumes_at=END,
)  # fmt: skip
MANY = Actor(name="guardrail many", face="bot")


def guarded(one: AuditEntry) -> Message:
    return cards.change_message(one, paused_card(INCIDENT, ["Fintech"], left=(), failed=(), cut=""))


def broken(code: Code = "missing") -> CheckReport:
    return CheckReport(
        check="dmarc",
        value="problem",
        code=code,
        place="_dmarc.mail.example",
        publish="v=DMARC1; p=none",
        confirmed=True,
    )


def dns(*problems: CheckReport) -> dict[str, Any]:
    return {"dns": cards.report_of(problems)}


def domain(*statuses: str, dns: Any = "good", guardrails: Any = (), **changed: Any) -> Message:
    """A paused domain after its inboxes were seen so, one after another."""
    event = Event(kind=PAUSED, domain="mail.example", reason="bounce_rate", raw={"rate": 0.083})
    seen = cards.Standing()
    for status in statuses:
        health = 91.0 if status == "active" else 62.0
        inboxes = [
            Inbox(email=f"{name}@mail.example", health_score=health, status=status) for name in ("a", "b")
        ]
        seen = cards.seen(inboxes, before=seen, thresholds=DEFAULT)
    names = ["Webinar follow-up", "E-commerce", "Fintech"]
    state = replace(seen, sequences=names, active=names[:2], dns=dns, guardrails=guardrails)
    standing = encode(state) if statuses else ""
    return card_blocks.render(
        cards.card(Alert(id="al_1", event=event, received_at=NOON.timestamp(), standing=standing, **changed))
    )


def records(**changed: Any) -> Message:
    """The card of broken DNS, and what became of it."""
    good = CheckReport(check="dmarc", value="good", code="fine", records=("v=DMARC1; p=none",))
    change = DomainChange(
        domain="mail.example", check="dmarc", at=NOON, before=good, after=changed.pop("after", broken())
    )
    told = cards.DnsEvent(domain="mail.example", at=NOON.timestamp(), broken=True, changes=[change])
    event = Event(kind=DNS, domain="mail.example", raw=json.loads(encode(told)))
    return card_blocks.render(
        cards.card(Alert(id="al_2", event=event, received_at=NOON.timestamp(), **changed))
    )


def dns_again(value: Value, *problems: CheckReport) -> Message:
    """The message in the thread when the DNS of a domain changes again."""
    good = CheckReport(check="dmarc", value="good", code="fine")
    after = replace(broken(), value=value, code="fine" if value == "good" else "missing")
    change = DomainChange(domain="mail.example", check="dmarc", at=NOON, before=good, after=after)
    report = DomainReport(domain="mail.example", checks=problems)
    again = cards.dns_update("mail.example", [change], report, after=timedelta(hours=2))
    return card_blocks.render_condensed(again)


BY_ANN = Now(status="active", by="@ann")
REPLIES: dict[str, Callable[[], Message]] = {
    **{f"reply, {name}": partial(whole, **state) for name, state in STATES.items()},
    "reply, not known to be interested": lambda: whole("lead.replied"),
    "reply, turned": lambda: posted("turned", alert()),
    "out of office": lambda: whole("reply.ooo", event={"return_date": "2026-12-01"}),
    "opt-out": lambda: whole("lead.unsubscribed"),
}
OTHERS: dict[str, Callable[[], Message]] = {
    "bundle": lambda: posted(
        "alert", *(alert(id=f"al_{n}", **state) for n, state in enumerate(({}, CLAIMED, SNOOZED, DONE)))
    ),
    "bounce": lambda: whole("lead.bounced", event={"reply": None, "bounce_type": "hard", "reason": "550"}),
    "unknown kind": lambda: whole("brand.new", event={"reply": None}),
    "condensed": lambda: card_blocks.render_condensed(listed(cards.card(alert("reply.ooo")))),
    "reminder": lambda: reminder("remind", "reminder"),
    "escalation": lambda: reminder("escalate", "escalation"),
    "back from a snooze": lambda: reminder("back", "back"),
    "reminder, claimed": lambda: reminder("remind", "reminder", waiting_since=None, **CLAIMED),
    "reminder, handled": lambda: reminder("remind", "reminder", waiting_since=None, **DONE),
    "reminder, snoozed": lambda: reminder("remind", "reminder", waiting_since=None, **SNOOZED),
    "many wait": lambda: card_blocks.render(
        summary_card([Due(alert=alert(), channel="C1", what="remind")] * 12, now=NOON.timestamp())
    ),
    "reminder of a domain, recovered": lambda: posted(
        "unacknowledged",
        replace(alert(), domain="x.example", recovered_at=AT),
        note=Card("x.example has been paused for 5 min"),
    ),
    "not done": lambda: posted("unfinished", alert(**CLAIMED), note=Card("Not done"), mention="U1"),
    "not done, which another has": lambda: posted(
        "unfinished", alert(**{**CLAIMED, "claimed_by": "U2"}), note=Card("Not done"), mention="U1"
    ),
    "turn": lambda: posted(
        "turn", alert(waiting_since=1.0, rota="sales", owner="U1ANN"), note=Card("Turn"), mention="U1ANN"
    ),
    "turn, passed on": lambda: posted(
        "turn",
        alert(waiting_since=1.0, rota="sales", owner="U2BEN", owner_name="ben"),
        note=Card("Turn"),
        mention="U1ANN",
    ),
    "several bounces": lambda: posted("alert", *[alert("lead.bounced")] * 2, mention=""),
    "a domain in a list": lambda: card_blocks.render_condensed(
        listed(cards.card(Alert(id="al_1", event=PAUSE)))
    ),
    "DNS, changed again": lambda: dns_again("good", broken()),
    "DNS, broken further": lambda: dns_again("problem", broken()),
    "DNS, good after that": lambda: dns_again("good"),
    "key refused": lambda: card_blocks.render(
        error_card(Unauthorized("The API key is missing.", status=401, endpoint="GET /sequences"), "ref-1")
    ),
    "gone": lambda: card_blocks.render(
        error_card(NotFound("No such sequence.", status=404, endpoint="PATCH /sequences"), "ref-2")
    ),
    "greeting": lambda: card_blocks.render(listeners.GREETING),
    "old button": lambda: card_blocks.render(listeners.UNKNOWN),
    "pause, of a hostile name": lambda: line(entry(HOSTILE)),
    "pause of several, one resumed": lambda: line(later(entry("Fintech", "Retail"), BY_ANN, None)),
    "pause, paused longer by another": lambda: line(
        later(entry("Fintech"), Now(status="paused", ends_at=MONDAY, by="@ann"))
    ),
    "history, paused until another time": lambda: cards.change_history(entry("Fintech", reason="a storm")),
    "end of a pause that no message told": lambda: card_blocks.render(ended_card(["Fintech"])),
    "guardrail, paused": lambda: guarded(entry("Fintech", by=MANY)),
    "guardrail, undone": lambda: guarded(entry("Fintech", by=MANY, undone_by="@ann")),
    "guardrail, ended": lambda: guarded(later(entry("Fintech", by=MANY), Now(status="active"))),
    "guardrail, refused": lambda: card_blocks.render(
        _card(INCIDENT, "did not pause", "The service did not confirm the pause.", failure=True)
    ),
    "guardrail, suggests": lambda: card_blocks.render(
        finding_card(INCIDENT, [Campaign(id="sq_1", status="active")])
    ),
    "guardrail, tells": lambda: card_blocks.render(
        finding_card(replace(INCIDENT, sentence=TELLS, label="mail.example"), ())
    ),
    "guardrail, over": lambda: card_blocks.render(over_card(INCIDENT)),
    "guardrail, fired on what is paused": lambda: card_blocks.render(
        finding_card(INCIDENT, [Campaign(id="sq_1", status="paused")])
    ),
    "guardrail, several of a domain": lambda: card_blocks.render(
        together_card(
            [
                (replace(INCIDENT, rule="first", action="tell"), _card(INCIDENT, "fired")),
                (replace(INCIDENT, action="suggest"), _card(INCIDENT, "suggests pausing Fintech")),
            ]
        )
    ),
    "guardrail, paused some": lambda: card_blocks.render(
        paused_card(INCIDENT, ["Fintech", "Retail"], left=("Media",), failed=("Legal",), cut="It was off.")
    ),
    "channel, refuses posts": lambda: card_blocks.render(delivery._broken("#sales", "is_archived")),
    "channel, refuses posts with a new word": lambda: card_blocks.render(delivery._broken("#sales", "odd")),
    "channel, has a new id": lambda: card_blocks.render(delivery._moved("C1", "C2")),
    "channel, never takes a message": lambda: card_blocks.render(delivery._given_up("#sales", "odd")),
    "card that shows more": lambda: posted("turned", alert(**CLAIMED)),
    "ends of several pauses": lambda: card_blocks.render(ended_card(["Retail", "Fintech"])),
    "end of the pause of what is gone": lambda: card_blocks.render(ended_card([])),
    "domain, not looked at yet": domain,
    "domain, without its name": lambda: card_blocks.render(
        cards.card(Alert(id="al_1", event=Event(kind=PAUSED)))
    ),
    "domain, resting": lambda: domain("resting"),
    "domain, acknowledged, with a rule's finding": lambda: domain(
        "resting",
        guardrails=[("many", "12 bounces in 1 h")],
        acked_name="ben",
        acked_at=(NOON + timedelta(minutes=3)).timestamp(),
    ),
    "domain, with broken DNS": lambda: domain("resting", **dns(broken())),
    "domain, sends again": lambda: domain("resting", "warming"),
    "domain, sends again with broken DNS": lambda: domain("resting", "warming", **dns(broken())),
    "domain, recovered": lambda: domain(
        "resting", "active", recovered_at=(NOON + timedelta(days=3)).timestamp()
    ),
    "DNS, broken": records,
    "DNS, changed": lambda: records(after=replace(broken(), value="good", records=("v=DMARC1; p=none",))),
    "DNS, good again": lambda: records(recovered_at=(NOON + timedelta(hours=2)).timestamp()),
    "DNS, told by the card of a pause": lambda: records(standing='{"moved": true}'),
}


PICTURES = REPLIES | OTHERS


@pytest.mark.parametrize("name", PICTURES)
def test_a_message_is_as_it_was(name: str, snapshot: SnapshotAssertion) -> None:
    drawn = PICTURES[name]()
    assert blockkit.problems(drawn.blocks) == []
    assert picture(drawn.text, drawn.blocks) == snapshot


@pytest.mark.parametrize("name", REPLIES)
def test_both_notifications_of_a_reply_say_who_from_where_and_what(name: str) -> None:
    drawn = PICTURES[name]()
    for text in notification(drawn.text, drawn.blocks).values():
        assert text.index("Ada") < text.index("Acme") < text.index("Yes, Thursday works")


@pytest.mark.parametrize("name", ["unclaimed", "claimed", "done"])
def test_the_details_show_the_whole_reply_and_every_act(name: str, snapshot: SnapshotAssertion) -> None:
    given_alert = alert(**STATES[name])
    details = details_card(given_alert, "U9")
    assert picture("", card_blocks.render_view(details)) == snapshot
    # Nothing that the card offers is missing.
    offered = {one.label for one in cards.card(given_alert).buttons}
    assert offered - {"Details …"} <= {one.label for one in details.buttons}
    own = details_card(given_alert, given_alert.claimed_by)
    assert "Take over" not in {one.label for one in own.buttons}


def test_a_link_to_answer_is_read_by_each_known_secret() -> None:
    given = alert()
    token = given.mail_link.rpartition("/")[2]
    for secrets, names in ((("new", "secret"), "al_1"), (("new",), "")):
        assert replace(CARDS, secrets=secrets).read_token(token, now=given.received_at) == names


def test_a_note_keeps_what_its_buttons_do() -> None:
    actions = (
        OnAlert(verb="claim", alert="al_1"),
        Pause(target=("Q3",)),
        UndoChange(change=7),
        Typed("odd 1"),
    )
    buttons = (*(Button("Do", action) for action in actions), Button("Look", url="https://x.example"))
    card = Card("Title", text=("text",), buttons=buttons)
    read = cards.read_note(cards.write_note(card))
    assert (read.title, read.text) == ("Title", ("text",))
    assert [button.action for button in read.buttons] == [*actions, None]
    assert cards.restated(cards.write_note(card)) == Card("Title")


def test_a_message_carries_the_ids_of_its_alerts() -> None:
    def of(kind: str, *names: str) -> dict[str, Any]:
        return cards.payload([replace(POST, kind=kind, alert_id=name) for name in names])

    key = {"key": POST.key}
    assert of("alert", "al_1") == key | {"alert_id": "al_1"}
    assert of("alert", "al_1", "al_2") == key | {"alert_id": "al_1", "alert_ids": ["al_1", "al_2"]}
    assert of("current", "al_1") == key | {"again_of": "al_1"}
    assert of("reminder", "al_1") == key


@settings(max_examples=8, deadline=None)
@given(
    reply=st.text(max_size=80) | st.text(min_size=1, max_size=30).map(lambda t: t * 400),
    name=st.text(max_size=40) | st.text(min_size=1, max_size=9).map(lambda t: t * 300),
    state=st.sampled_from(list(STATES)),
)
def test_nothing_that_a_lead_writes_breaks_a_limit_in_any_state(reply: str, name: str, state: str) -> None:
    lead = EventLead(email=f"{name}@x.example", first_name=name, company=name)
    event = Event(kind="reply.interested", lead=lead, sequence=name, reply=reply, inbox=name)
    hostile = replace(alert(**STATES[state]), event=event)
    card = cards.card(hostile)
    assert hostile.state == "unclaimed" or {"@ann", "@ben"} & {*card.title.split()}, (
        "a long name hides nobody"
    )
    many = [replace(hostile, id=f"al_{n:016}") for n in range(13)]
    condensed = card_blocks.render_condensed(listed(cards.card(hostile)))
    for message in (card_blocks.render(card), condensed, posted("alert", *many)):
        called = cards.with_mention(message, "S0SALES")
        assert blockkit.problems(called.blocks) == []
        assert card_blocks.size(called.blocks) <= 13_200
        assert "<!channel>" not in called.text


@pytest.mark.parametrize(
    "name", ["Q3 founders", "it's 2h", '"quoted"', "@other", "for 2h", "x\ny", "--yes", "“curly”"]
)
def test_the_pause_buttons_line_is_read_back_as_that_sequence(name: str) -> None:
    card = cards.card(replace(alert(), event=replace(alert().event, sequence=name)))
    line = next(button.line for button in card.buttons if button.label == "Pause sequence")
    assert commands.parse(line).arguments.verb == "pause"
    assert commands.parse(line).workspace is None


def test_with_several_workspaces_every_button_names_its_own() -> None:
    card = cards.card(alert(workspace="emea"))
    lines = [button.line for button in card.buttons if " al_1" not in button.line]
    assert {commands.parse(line).workspace for line in lines} == {"emea"}
