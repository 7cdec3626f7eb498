"""The cards of a domain: paused, sending again, recovered, and its DNS. Pure.

Everything that isn't in the delivery comes from `Alert.subject`, which `bot.jobs.card_refresh` and
`bot.jobs.domain_checks` write; it may be missing. The service doesn't report a recovery, so it is derived from the
domain's inboxes, now and before.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from bot.alerts.cards import facts_of, footer, span
from bot.blockkit.actions import ACK, OnAlert
from shared.api.event_kinds import DNS
from shared.api.models import Inbox
from shared.commands.base import DOMAIN
from shared.commands.inboxes import Domain, Inboxes
from shared.commands.pause import Pause
from shared.domain.alert import Alert, domain_of
from shared.domain.card import Button, Card, Tone
from shared.domain.dns_facts import advice_of, change_of, headline
from shared.domain.health import Thresholds, verdict
from shared.domain.paused_domains import advice, pause_reason
from shared.domain_health.report import CheckReport, Code, DomainChange, DomainReport, Value, decode, encode
from shared.text.formats import clip, show_exact_span, show_number

SENDING = "sending"
"""The stage of a domain that sends again and is not well yet."""
RECOVERED = "recovered"
"""The stage of a domain whose inboxes are all active and healthy."""
NAMED = 2
"""Sequences that the card names."""
REASON, LINE, RECORD, RECORD_FACT = 80, 300, 2_000, 600
"""Characters of the reason in the title, of a line, of a record to copy, and of one in a fact."""
UNKNOWN_STATUS = "of unknown status"
_STATUS = {"active": "active", "warming": "warming up", "resting": "resting"}


def paused_card(alert: Alert) -> Card:
    """Red while it is paused or its DNS is broken, amber while it warms up, green when it has recovered."""
    name, stage = clip(domain_of(alert.event) or "A domain"), alert.subject.get("stage")
    problems, why = problems_in(alert.subject), clip(pause_reason(alert.event), length=REASON)
    title, tone, back = f"{name} is paused: {why}" if why else f"{name} is paused", Tone.BAD, ""
    is_well = alert.recovered_at is not None or stage == RECOVERED
    if sends := is_well or stage == SENDING:
        title, tone = _sending(name, is_well=is_well, is_broken=bool(problems))
    if alert.recovered_at is not None:
        back = f"It recovered after {span(alert.received_at, alert.recovered_at)}."
    elif stage == SENDING:
        back = "It is warming up: its daily limits start small and grow each day."
    counts: Mapping[str, int] = alert.subject.get("counts", {})
    bounced, left = counts.get("lead.bounced", 0), counts.get("lead.unsubscribed", 0)
    # Advice for a domain that sends would be about what is over; what its DNS needs is said above in any case.
    next_step = "" if sends else f"Next: {advice(alert.event.reason or '', bounced=bounced, left=left)}"
    return Card(
        title=title,
        tone=tone,
        notifies=True,
        text=(_repairs(problems), back, _facts(alert), next_step),
        code=_records_to_publish(problems),
        buttons=_buttons(alert, sends=sends),
        footer=footer(alert),
    )


def _sending(name: str, *, is_well: bool, is_broken: bool) -> tuple[str, Tone]:
    """The title for a domain that sends again: with broken DNS that is not good news."""
    state = f"{name} {'has recovered' if is_well else 'is sending again'}"
    if is_broken:
        return f"{state}, but its DNS is broken", Tone.BAD
    return state, Tone.GOOD if is_well else Tone.WARN


def problems_in(standing: Mapping[str, Any]) -> Sequence[CheckReport]:
    """The problems that a card's state holds."""
    # Another version may have written it: what can't be read is no problem.
    stored = standing.get("dns")
    report = decode(DomainReport, json.dumps(stored)) if isinstance(stored, Mapping) else None
    return _causes(report.checks) if report else ()


def _causes(problems: Sequence[CheckReport]) -> Sequence[CheckReport]:
    """The problems; for a domain that is gone only that: the others follow from it."""
    gone = [check for check in problems if check.code is Code.NO_DOMAIN]
    return gone[:1] or problems


def problems_state(problems: Sequence[CheckReport]) -> dict[str, Any]:
    """The problems for a card's state."""
    return {"dns": json.loads(encode(DomainReport(domain="", checks=tuple(problems))))}


def _repairs(problems: Sequence[CheckReport]) -> str:
    """A line for each problem with what to do; a record that is known whole stands below, to copy."""
    lines = []
    for problem in problems:
        to_do = clip(advice_of(problem).removesuffix(problem.publish).rstrip(" :"), length=LINE)
        lines.append(f"{headline(problem)}. {to_do}".strip())
    return "\n".join(lines)


def _records_to_publish(problems: Sequence[CheckReport]) -> str:
    """The records as they should be, a line each, in the order of the problems."""
    return "\n".join(check.publish for check in problems if check.publish)[:RECORD]


def _summary(rows: Sequence[Mapping[str, Any]]) -> str:
    """`7 inboxes resting`, `2 inboxes resting, 1 active`: no more than is known; with the lowest score."""
    counts = Counter(_STATUS.get(row.get("status") or "", UNKNOWN_STATUS) for row in rows)
    parts = [f"{counts[word]} {word}" for word in (*_STATUS.values(), UNKNOWN_STATUS) if counts[word]]
    count, _, status = parts[0].partition(" ")
    scores = [row["health"] for row in rows if row.get("health") is not None]
    lowest = f"lowest health {min(scores):g}" if scores else "health unknown"
    return ", ".join((f"{show_number(int(count), 'inbox')} {status}", *parts[1:], lowest))


def _facts(alert: Alert) -> str:
    """DNS, inboxes, sequences, what rules found and who takes care of it, in one line."""
    standing = alert.subject
    dns, rows, names = standing.get("dns"), standing.get("inboxes", ()), standing.get("sequences", ())
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    rules = "; ".join(f"{rule}: {note}" for rule, note in standing.get("guardrails", ()))
    facts = (
        f"DNS {dns}" if isinstance(dns, str) else "",
        _summary(rows) if rows else clip(alert.event.inbox or ""),
        ", ".join(clip(name, length=40) for name in names[:NAMED]) + more,
        clip(rules, length=LINE),
        f"acknowledged by @{alert.acked_name}" if alert.acked_at is not None else "",
    )
    return " · ".join(filter(None, facts))


def _buttons(alert: Alert, *, sends: bool) -> tuple[Button, ...]:
    """To take care of it, to pause what still sends, by the number that the question names, and to look."""
    domain, names, here = domain_of(alert.event), alert.subject.get("active"), alert.workspace
    buttons = []
    if alert.acked_at is None and alert.recovered_at is None:
        acknowledge = OnAlert(verb=ACK, alert=alert.id)
        buttons.append(Button(label="Acknowledge", action=acknowledge, tone=Tone.GOOD))
    if not domain:
        return tuple(buttons)
    # Without a look at the account the button names no number; its question will.
    if not sends and names != []:
        label = f"Pause {show_number(len(names), 'sequence')}" if names else "Pause its sequences"
        every = Pause(target=(f"{DOMAIN}{domain}",))
        buttons.append(Button(label=label, action=every, workspace=here, tone=Tone.BAD))
    looks = {"Show domain": Domain(name=domain.lower()), "Show inboxes": Inboxes(filter=domain)}
    buttons += [Button(label=label, action=act, workspace=here, menu=True) for label, act in looks.items()]
    return tuple(buttons)


def domain_state(
    inboxes: Sequence[Inbox], *, before: Mapping[str, Any], thresholds: Thresholds
) -> dict[str, Any]:
    """The state of a paused domain; `before` is its state at the last look, empty at first."""
    tones = [verdict(inbox, thresholds=thresholds).tone for inbox in inboxes if inbox.status == "active"]
    is_well = tones == [Tone.GOOD] * len(inboxes)
    rests = any(inbox.status == "resting" for inbox in inboxes)
    # The report of a pause may come before its inboxes rest, or after they were well again: only what was seen in
    # trouble recovers, and only what was seen at rest sends again.
    troubled, rested = bool(before.get("troubled")) or not is_well, bool(before.get("rested")) or rests
    stage = ""
    if inboxes and is_well and troubled:
        stage = RECOVERED
    elif inboxes and rested and not rests:
        stage = SENDING
    rows = [{"health": inbox.health_score, "status": inbox.status} for inbox in inboxes]
    return {"inboxes": rows, "troubled": troubled, "rested": rested, "stage": stage}


def recovery_card(alert: Alert, now: Mapping[str, Any], *, at: float) -> Card:
    """The message for thread and channel about a domain that is sending again or has recovered."""
    is_broken = bool(problems_in(now))
    title, tone = _sending(clip(alert.domain), is_well=now["stage"] == RECOVERED, is_broken=is_broken)
    return Card(
        title=title, tone=tone, text=(f"After {span(alert.received_at, at)}: {_summary(now['inboxes'])}.",)
    )


def dns_body(domain: str, changes: Sequence[DomainChange], at: float) -> bytes:
    """The event of these changes of a domain's DNS, as a delivery."""
    told = [json.loads(encode(one)) for one in changes]
    is_broken = any(one.after.value is Value.PROBLEM for one in changes)
    event = {"event": DNS, "domain": domain, "at": at, "broken": is_broken, "changes": told}
    return json.dumps(event).encode()


def dns_card(alert: Alert) -> Card:
    """Red while anything is broken, green when all of it is good again.

    The delivery has what was first noticed; `Alert.subject` has how it stands now, once that is another.
    """
    domain, told = clip(domain_of(alert.event) or "A domain"), alert.event.raw.get("changes")
    if alert.subject.get("moved"):
        return Card(title=f"DNS of {domain}: see the card of its pause", notifies=True)
    read = [decode(DomainChange, json.dumps(change)) for change in (told if isinstance(told, list) else ())]
    changes = [change for change in read if change is not None]
    problems = problems_in(alert.subject)
    if "dns" not in alert.subject:
        problems = _causes([change.after for change in changes if change.after.value is Value.PROBLEM])
    title, tone, text = f"DNS of {domain} changed", Tone.INFO, "\n".join(map(change_of, changes))
    seen = [
        *(("before", change.before) for change in changes),
        *(("now", change.after) for change in changes),
    ]
    if alert.recovered_at is not None:
        seen, problems, text = [], (), f"It was broken for {span(alert.received_at, alert.recovered_at)}."
    if problems:
        seen = [("now", problem) for problem in problems]
        title, tone = f"DNS of {domain} is broken", Tone.BAD
        text = f"Receivers may reject or junk its mail.\n{_repairs(problems)}"
    elif alert.recovered_at is not None or (changes and all(change.recovered for change in changes)):
        title, tone = f"DNS of {domain} is good again", Tone.GOOD
    return Card(
        title=title,
        tone=tone,
        notifies=True,
        text=(text,),
        facts=facts_of(*(_record(time, check) for time, check in seen)),
        code=_records_to_publish(problems),
        buttons=(Button(label="Show domain", action=Domain(name=domain.lower()), workspace=alert.workspace),),
        footer=footer(alert),
    )


def _record(time: str, check: CheckReport) -> tuple[str, str]:
    return f"{check.check.upper()} {time}", clip(" · ".join(check.records), length=RECORD_FACT)


def dns_update(
    domain: str, changes: Sequence[DomainChange], report: DomainReport, *, after: timedelta
) -> Card:
    """The message in the thread of the card when the domain's DNS changes again."""
    if not report.problems:
        title, text = f"DNS of {clip(domain)} is good again", f"After {show_exact_span(after)}."
        return Card(title=title, tone=Tone.GOOD, text=(text,))
    is_worse = any(change.after.value is Value.PROBLEM for change in changes)
    still = ", ".join(check.check.upper() for check in report.problems)
    return Card(
        title=f"DNS of {clip(domain)} changed",
        tone=Tone.BAD if is_worse else Tone.WARN,
        text=(*map(change_of, changes), *([] if is_worse else [f"Still broken: {still}."])),
    )
