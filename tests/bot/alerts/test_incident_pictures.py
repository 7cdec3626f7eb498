"""What people see of pauses, guardrails and domains, in each state: `--snapshot-update` accepts a change.

A picture has a line for each block: `[Button]`, `⋯ menu`, `> text to copy`; a time is `<16:31>`, as Slack draws it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from bot.alerts import changes, domains, kinds
from bot.blockkit import card_blocks
from bot.blockkit.card_blocks import Message
from bot.guardrails import cards
from bot.jobs.due import ended_card
from sandbox.slack import blockkit
from shared.api.event_kinds import DNS, PAUSED
from shared.api.events import Event
from shared.api.models import Inbox
from shared.domain.alert import Alert
from shared.domain.card import Card
from shared.domain.health import DEFAULT
from shared.domain_health.report import (
    Action,
    Advice,
    Check,
    CheckReport,
    Code,
    DomainChange,
    DomainReport,
    Value,
    encode,
)
from shared.guardrails import sentence
from shared.records.audit import Actor, AuditEntry, Before, Now
from shared.records.guardrails import Incident
from shared.store.jobs import Job

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
END = (NOON + timedelta(hours=4, minutes=31)).timestamp()
MONDAY = (NOON + timedelta(days=3)).timestamp()
HOSTILE = "<!here> *Fintech* :tada: `ops` <https://bank.example|a form>"
TELLS = "notify about domain when bounces > 5 in 1h"
RULE = "pause sequence for 4h when bounces > 10 in 1h"
BEN = Actor(name="ben", id="U1", face="slack")


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
    return changes.message(one, Card(title="", **card))


INCIDENT = Incident(
    id=1, workspace="default", rule="many", sentence=RULE, action="act", subject="fintech", label="Fintech",
    note="12 bounces in 1 h. Limit: 10", began_at=0.0, held_at=0.0, resumes_at=END,
)  # fmt: skip
MANY = Actor(name="guardrail many", face="bot")
ENDED = Job(
    id=1,
    kind="resume",
    key="sq_1",
    token=1,
    payload={"name": "Fintech", "by": "dev", "face": "shell", "ends_at": END},
)


def guarded(one: AuditEntry) -> Message:
    return changes.message(one, cards.paused(INCIDENT, ["Fintech"]))


def broken(code: Code = Code.MISSING) -> CheckReport:
    advice = Advice(action=Action.ADD, name="_dmarc.mail.example", value="v=DMARC1; p=none")
    return CheckReport(check=Check.DMARC, value=Value.PROBLEM, code=code, advice=advice, confirmed=True)


def dns(*problems: CheckReport) -> dict[str, Any]:
    return {"dns": json.loads(encode(DomainReport(domain="", checks=problems)))}


def domain(*statuses: str, dns: Any = "good", guardrails: Any = (), **changed: Any) -> Message:
    """A paused domain after its inboxes were seen so, one after another."""
    event = Event(kind=PAUSED, domain="mail.example", reason="bounce_rate", raw={"rate": 0.083})
    seen: dict[str, Any] = {}
    for status in statuses:
        health = 91.0 if status == "active" else 62.0
        inboxes = [
            Inbox(email=f"{name}@mail.example", health_score=health, status=status) for name in ("a", "b")
        ]
        seen = domains.domain_state(inboxes, before=seen, thresholds=DEFAULT)
    names = ["Webinar follow-up", "E-commerce", "Fintech"]
    state = {**seen, "sequences": names, "active": names[:2], "dns": dns, "guardrails": guardrails}
    standing = state if statuses else {}
    return card_blocks.render(
        kinds.card(
            Alert(
                id="al_1", event=event, received_at=NOON.timestamp(), standing=json.dumps(standing), **changed
            )
        )
    )


def records(**changed: Any) -> Message:
    """The card of broken DNS, and what became of it."""
    good = CheckReport(check=Check.DMARC, value=Value.GOOD, code=Code.FINE, records=("v=DMARC1; p=none",))
    change = DomainChange(
        domain="mail.example", check=Check.DMARC, at=NOON, before=good, after=changed.pop("after", broken())
    )
    body = json.loads(domains.dns_body("mail.example", [change], NOON.timestamp()))
    event = Event(kind=DNS, domain="mail.example", raw=body)
    return card_blocks.render(
        kinds.card(Alert(id="al_2", event=event, received_at=NOON.timestamp(), **changed))
    )


BY_ANN = Now(status="active", by="@ann")
PICTURES: Mapping[str, Callable[[], Message]] = {
    "pause": lambda: line(entry("Fintech")),
    "pause, until resumed, with a reason": lambda: line(
        entry("Fintech", until=None), text=("Reason: a storm",)
    ),
    "pause, until another day": lambda: line(entry("Fintech", until=MONDAY)),
    "pause, of a hostile name": lambda: line(entry(HOSTILE)),
    "pause of several": lambda: line(entry("Fintech", "Retail"), text=("Fintech, Retail",)),
    "pause of several, one resumed": lambda: line(later(entry("Fintech", "Retail"), BY_ANN, None)),
    "pause, undone": lambda: line(entry("Fintech", undone_by="@ann")),
    "pause, ended": lambda: line(later(entry("Fintech"), Now(status="active"))),
    "pause, resumed by another": lambda: line(later(entry("Fintech"), BY_ANN)),
    "pause, paused longer by another": lambda: line(
        later(entry("Fintech"), Now(status="paused", ends_at=MONDAY, by="@ann"))
    ),
    "resumption": lambda: line(entry("Fintech", until=None, effect="resumed")),
    "history, undone": lambda: changes.history(entry("Fintech", undoes=7)),
    "history, ended": lambda: changes.history(
        entry("Fintech", by=Actor(name="outreach", face="bot"), effect="resumed")
    ),
    "history, paused until another time": lambda: changes.history(entry("Fintech", reason="a storm")),
    "end of a pause that no message told": lambda: card_blocks.render(ended_card({ENDED: False})),
    "guardrail, paused": lambda: guarded(entry("Fintech", by=MANY)),
    "guardrail, undone": lambda: guarded(entry("Fintech", by=MANY, undone_by="@ann")),
    "guardrail, ended": lambda: guarded(later(entry("Fintech", by=MANY), Now(status="active"))),
    "guardrail, refused": lambda: card_blocks.render(
        cards.not_paused(INCIDENT, "The service did not confirm the pause.", failed=True)
    ),
    "guardrail, suggests": lambda: card_blocks.render(
        cards.suggestion(INCIDENT, sentence.parse(RULE), target="sq_1")
    ),
    "guardrail, tells": lambda: card_blocks.render(
        cards.notice(replace(INCIDENT, sentence=TELLS, label="mail.example"), sentence.parse(TELLS))
    ),
    "guardrail, over": lambda: card_blocks.render(cards.over(INCIDENT)),
    "guardrails wait": lambda: card_blocks.render(
        cards.waiting(["many"], "the bot has not read the service yet")
    ),
    "domain, not looked at yet": domain,
    "domain, resting": lambda: domain("resting"),
    "domain, acknowledged, with a rule's finding": lambda: domain(
        "resting",
        guardrails=[["many", "12 bounces in 1 h"]],
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
    "DNS, good again": lambda: records(recovered_at=(NOON + timedelta(hours=2)).timestamp()),
    "DNS, told by the card of a pause": lambda: records(standing='{"moved": true}'),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_message_is_as_it_was(name: str, snapshot: SnapshotAssertion) -> None:
    drawn = PICTURES[name]()
    assert blockkit.problems(drawn.blocks) == []
    assert picture(drawn) == snapshot


def picture(message: Message) -> str:
    return "\n".join(words for block in message.blocks for words in _lines(block))


def _lines(block: dict[str, Any]) -> list[str]:
    if block["type"] == "actions":
        return [" ".join(map(_button, block["elements"]))]
    beside = f" {_button(block['accessory'])}" if "accessory" in block else ""
    text = re.sub(r"<!date\^\d+\^[^|]*\|([^>]*)>", r"<\1>", _text(block.get("text") or block["elements"]))
    copied = "> " if "rich_text_preformatted" in json.dumps(block) else ""
    return [f"{copied}{text}{beside}"]


def _text(part: Any) -> str:
    if isinstance(part, list):
        return "".join(map(_text, part))
    if isinstance(part, dict):
        return _text(part.get("text") or part.get("elements") or "")
    return str(part)


def _button(element: dict[str, Any]) -> str:
    if element["type"] == "overflow":
        return f"⋯ {', '.join(one['text']['text'] for one in element['options'])}"
    return f"[{element['text']['text']}]"
