"""The card of a domain whose DNS broke, changed or recovered: what is wrong, the records, what to do. Pure.

The delivery has what was first noticed; `Alert.standing` has how it stands now, once that is another.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from bot.alerts.model import Alert, domain_of
from bot.alerts.paused_domain import problems_in, records_to_publish, repair
from bot.alerts.wording import facts_of, footer
from shared.api.event_kinds import DNS
from shared.commands.base import clip
from shared.commands.domain import Domain
from shared.domain.card import Button, Card, Fact, Tone
from shared.domain_health.encoding import decode_change, encode_change, encode_report
from shared.domain_health.report import CheckReport, DomainChange, DomainReport, Value
from shared.domain_health.wording import change_of, name_of
from shared.text.formats import show_exact_span

LONGEST = 600
"""Characters of what a fact shows: a long SPF record is all there."""


def body(domain: str, changes: Sequence[DomainChange], at: float) -> bytes:
    """The event of these changes, as a delivery."""
    told = [json.loads(encode_change(one)) for one in changes]
    return json.dumps({"event": DNS, "domain": domain, "at": at, "changes": told}).encode()


def standing(report: DomainReport) -> str:
    """How a domain stands now, for the card that shows its problem."""
    problems = DomainReport(domain=report.domain, checks=tuple(report.problems))
    return json.dumps({"dns": json.loads(encode_report(problems))}, sort_keys=True)


def card(alert: Alert) -> Card:
    """Red while anything is broken, green when all of it is good again."""
    domain = clip(domain_of(alert.event) or "A domain")
    changes = _changes(alert.event.raw)
    problems = _problems(alert, changes)
    facts: tuple[Fact, ...] = ()
    if alert.standing.get("moved"):
        return Card(title=f"DNS of {domain}: see the card of its pause", notifies=True)
    if alert.recovered_at:
        title, tone = f"DNS of {domain} is good again", Tone.GOOD
        text: tuple[str, ...] = (
            f"It was broken for {show_exact_span(alert.recovered_at - alert.received_at)}.",
        )
    elif problems:
        title, tone = f"DNS of {domain} is broken", Tone.BAD
        text = ("Receivers may reject or junk its mail.", *map(repair, problems))
        facts = tuple(fact for one in problems for fact in _records(f"{name_of(one.check)} now", one))
    else:
        better = all(one.recovered for one in changes) and bool(changes)
        title = f"DNS of {domain} is good again" if better else f"DNS of {domain} changed"
        tone, text = Tone.GOOD if better else Tone.INFO, tuple(map(change_of, changes))
        facts = tuple(fact for one in changes for fact in _before_and_after(one))
    return Card(
        title=title,
        tone=tone,
        notifies=True,
        text=text,
        code="" if alert.recovered_at else records_to_publish(problems),
        facts=facts,
        buttons=(Button(label="Show domain", action=Domain(name=domain.lower()), workspace=alert.workspace),),
        footer=footer(alert),
    )


def update(domain: str, changes: Sequence[DomainChange], report: DomainReport, *, after: timedelta) -> Card:
    """What goes into the thread of the card when the domain's DNS changes again."""
    if not report.problems:
        title, text = f"DNS of {clip(domain)} is good again", f"After {show_exact_span(after)}."
        return Card(title=title, tone=Tone.GOOD, text=(text,))
    worse = [one.after for one in changes if one.after.value is Value.PROBLEM]
    still = ", ".join(name_of(one.check) for one in report.problems)
    return Card(
        title=f"DNS of {clip(domain)} changed",
        tone=Tone.BAD if worse else Tone.WARN,
        text=(*map(change_of, changes), *([] if worse else [f"Still broken: {still}."])),
    )


def _changes(raw: Mapping[str, Any]) -> Sequence[DomainChange]:
    """Those of the event, as far as this version can read them."""
    told = raw.get("changes")
    read = (decode_change(json.dumps(one)) for one in (told if isinstance(told, list) else ()))
    return [one for one in read if one is not None]


def _problems(alert: Alert, changes: Sequence[DomainChange]) -> Sequence[CheckReport]:
    """How it stands now, or else what was first noticed."""
    if "dns" in alert.standing:
        return problems_in(alert.standing)
    broken = [one.after for one in changes if one.after.value is Value.PROBLEM]
    found = DomainReport(domain="", checks=tuple(broken))
    return problems_in({"dns": json.loads(encode_report(found))})


def _records(label: str, one: CheckReport) -> tuple[Fact, ...]:
    return facts_of((label, clip(" · ".join(one.records), length=LONGEST)))


def _before_and_after(one: DomainChange) -> tuple[Fact, ...]:
    name = name_of(one.check)
    return (*_records(f"{name} before", one.before), *_records(f"{name} now", one.after))
