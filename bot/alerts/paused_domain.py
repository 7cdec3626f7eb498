"""The card of a paused domain: why, one line of facts, and what to do next. Pure.

Everything that isn't in the delivery comes from `Alert.standing`, which `bot.jobs.card_refresh` reads; it may be missing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from bot.alerts.model import Alert, domain_of
from bot.alerts.wording import footer
from bot.blockkit.actions import ACK, OnAlert
from shared.commands.base import DOMAIN, clip
from shared.commands.domain import Domain
from shared.commands.inboxes import Inboxes
from shared.commands.pause import Pause
from shared.domain.card import Button, Card, Tone
from shared.domain.paused_domains import advice, pause_reason
from shared.domain_health import wording
from shared.domain_health.encoding import decode_report
from shared.domain_health.report import CheckReport, Code
from shared.text.formats import show_exact_span, show_number

SENDING = "sending"
"""The stage of a domain that sends again and is not well yet."""
RECOVERED = "recovered"
"""The stage of a domain whose inboxes are all active and healthy."""
NAMED, MOST_PAUSES = 2, 3
"""Sequences that the card names, and those that its menu pauses one by one."""
REASON, LINE, RECORD = 80, 300, 2_000
"""Characters of the reason in the title, of a line, and of a record to copy."""
_STATUS = {"active": "active", "warming": "warming up", "resting": "resting"}


def card(alert: Alert) -> Card:
    """Red while it is paused or its DNS is broken, amber while it warms up, green when it has recovered."""
    title, tone = headline(alert)
    problems = dns_problems(alert)
    why = clip(pause_reason(alert.event), length=REASON)
    lines = (_back(alert), _facts(alert), "" if _sends(alert) else f"Next: {_advice(alert)}")
    return Card(
        title=f"{title}: {why}" if why and not _sends(alert) else title,
        tone=tone,
        notifies=True,
        text=(*map(repair, problems), *filter(None, lines)),
        code=records_to_publish(problems),
        buttons=_buttons(alert),
        footer=footer(alert),
    )


def headline(alert: Alert) -> tuple[str, Tone]:
    """What the card says first: sending with broken DNS is no good news."""
    name = clip(domain_of(alert.event) or "A domain")
    if not _sends(alert):
        return f"{name} is paused", Tone.BAD
    well = alert.recovered_at or alert.standing.get("stage") == RECOVERED
    state = "has recovered" if well else "is sending again"
    if dns_problems(alert):
        return f"{name} {state}, but its DNS is broken", Tone.BAD
    return f"{name} {state}", Tone.GOOD if well else Tone.WARN


def _sends(alert: Alert) -> bool:
    return bool(alert.recovered_at) or alert.standing.get("stage") in {SENDING, RECOVERED}


def dns_problems(alert: Alert) -> Sequence[CheckReport]:
    """What is known to be wrong with the DNS of the domain now."""
    return problems_in(alert.standing)


def problems_in(standing: Mapping[str, Any]) -> Sequence[CheckReport]:
    """The problems that a card's state holds; of a domain that is gone only that it is: the others follow from it."""
    known = standing.get("dns")
    report = decode_report(json.dumps(known)) if isinstance(known, Mapping) else None
    problems = report.checks if report else ()
    gone = [one for one in problems if one.code is Code.NO_DOMAIN]
    return gone[:1] or problems


def repair(one: CheckReport) -> str:
    """What is wrong with a record, and what to do; a record that is known whole stands in the card's code."""
    record = one.advice.value if one.advice else ""
    to_do = wording.advice_of(one).removesuffix(record).rstrip(" :")
    return " ".join(filter(None, (f"{wording.headline(one)}.", clip(to_do, length=LINE))))


def records_to_publish(problems: Sequence[CheckReport]) -> str:
    """The records as they should be, a line each, to copy."""
    known = (one.advice.value for one in problems if one.advice and one.advice.value)
    return "\n".join(known)[:RECORD]


def inboxes_summary(rows: Sequence[Mapping[str, Any]]) -> str:
    """`7 inboxes resting`, `2 inboxes resting, 1 active`: no more than is known; with the lowest score."""
    counts = Counter(_STATUS.get(row.get("status") or "", "of unknown status") for row in rows)
    words = [word for word in (*_STATUS.values(), "of unknown status") if counts[word]]
    parts = [f"{show_number(counts[word], 'inbox')} {word}" for word in words[:1]]
    parts += [f"{counts[word]} {word}" for word in words[1:]]
    scores = [row["health"] for row in rows if row.get("health") is not None]
    return ", ".join((*parts, f"lowest health {min(scores):g}" if scores else "health unknown"))


def _facts(alert: Alert) -> str:
    """DNS, inboxes, sequences, what rules found and who takes care of it, in one line."""
    standing = alert.standing
    dns, rows, names = standing.get("dns"), standing.get("inboxes", ()), standing.get("sequences", ())
    found: Sequence[Sequence[str]] = standing.get("guardrails", ())
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return " · ".join(
        filter(
            None,
            (
                f"DNS {dns}" if isinstance(dns, str) else "",
                inboxes_summary(rows) if rows else clip(alert.event.inbox or ""),
                ", ".join(clip(name, length=40) for name in names[:NAMED]) + more,
                clip("; ".join(f"{rule}: {note}" for rule, note in found), length=LINE),
                f"acknowledged by @{alert.acknowledged.name}" if alert.acknowledged else "",
            ),
        )
    )


def _back(alert: Alert) -> str:
    if alert.recovered_at:
        return f"It recovered after {show_exact_span(alert.recovered_at - alert.received_at)}."
    if alert.standing.get("stage") == SENDING:
        return "It is warming up: its daily limits start small and grow each day."
    return ""


def _advice(alert: Alert) -> str:
    seen: Mapping[str, int] = alert.standing.get("counts", {})
    bounced, left = seen.get("lead.bounced", 0), seen.get("lead.unsubscribed", 0)
    return advice(alert.event.reason or "", bounced=bounced, left=left)


def _buttons(alert: Alert) -> tuple[Button, ...]:
    domain = domain_of(alert.event)
    unseen = not (alert.acknowledged or alert.recovered_at)
    looks = (
        {"Show domain": Domain(name=domain.lower()), "Show inboxes": Inboxes(filter=domain)} if domain else {}
    )
    return (
        *(
            (Button(label="Acknowledge", action=OnAlert(verb=ACK, alert=alert.id), tone=Tone.GOOD),)
            if unseen
            else ()
        ),
        *(() if _sends(alert) or not domain else _pausing(alert, domain)),
        *(
            Button(label=label, action=look, workspace=alert.workspace, menu=True)
            for label, look in looks.items()
        ),
    )


def _pausing(alert: Alert, domain: str) -> tuple[Button, ...]:
    """A pause of all that still send, by the number that its question names, and of each in the menu."""
    names = alert.standing.get("active")
    if names == []:
        return ()
    label = f"Pause {show_number(len(names), 'sequence')}" if names else "Pause its sequences"
    every = Pause(target=(f"{DOMAIN}{domain}",))
    single = [(f"Pause {clip(name, length=40)}", Pause(target=(name,))) for name in names or ()]
    return (
        Button(label=label, action=every, workspace=alert.workspace, tone=Tone.BAD),
        *(
            Button(label=label, action=pause, workspace=alert.workspace, menu=True)
            for label, pause in (single[:MOST_PAUSES] if len(single) > 1 else ())
        ),
    )
