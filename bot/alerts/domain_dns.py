"""The card of a domain whose DNS broke, changed or recovered: what is wrong, the records, what to do. Pure.

The delivery has what was first noticed; `Alert.standing` has how it stands now, once that is another.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from bot.alerts.model import Alert, domain_of
from bot.alerts.wording import facts_of, footer, when
from shared.api.event_kinds import DNS
from shared.commands.base import clip
from shared.commands.domain import Domain
from shared.commands.status import Status
from shared.domain.card import Button, Card, Fact, Tone
from shared.domain_health.encoding import decode_change, decode_report, encode_change, encode_report
from shared.domain_health.report import CheckReport, Code, DomainChange, DomainReport, Value
from shared.domain_health.wording import advice_of, change_of, name_of, state_of
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
    if alert.recovered_at:
        took = show_exact_span(alert.recovered_at - alert.received_at)
        title, tone = f"DNS of {domain} is good again", Tone.GOOD
        text: tuple[str, ...] = (f"It was broken for {took}.",)
    elif problems:
        title, tone, text = f"DNS of {domain} is broken", Tone.BAD, (_names(problems),)
    else:
        better = all(one.recovered for one in changes) and bool(changes)
        title = f"DNS of {domain} is good again" if better else f"DNS of {domain} changed"
        tone = Tone.GOOD if better else Tone.INFO
        text = tuple(change_of(one) for one in changes)
    return Card(
        title=title,
        tone=tone,
        notifies=True,
        text=text,
        facts=(
            *(fact for one in problems for fact in _facts(one)),
            *(() if problems else (fact for one in changes for fact in _before_and_after(one))),
            when("Noticed", alert.received_at),
            *((when("Good again", alert.recovered_at),) if alert.recovered_at else ()),
        ),
        buttons=(
            Button(label="Show domain", action=Domain(name=domain.lower()), workspace=alert.workspace),
            Button(label="Status", action=Status(), workspace=alert.workspace),
        ),
        footer=footer(alert),
    )


def update(domain: str, changes: Sequence[DomainChange], report: DomainReport, *, after: timedelta) -> Card:
    """What goes into the thread of the card when the domain's DNS changes again."""
    if not report.problems:
        return Card(
            title=f"DNS of {clip(domain)} is good again",
            tone=Tone.GOOD,
            text=(f"After {show_exact_span(after)}.", *map(change_of, changes)),
        )
    worse = _causes([one.after for one in changes if one.after.value is Value.PROBLEM])
    still = ", ".join(name_of(one.check) for one in report.problems)
    return Card(
        title=f"DNS of {clip(domain)} changed",
        tone=Tone.BAD if worse else Tone.WARN,
        text=(*map(change_of, changes), f"Still broken: {still}.")
        if not worse
        else tuple(map(change_of, changes)),
        facts=tuple(fact for one in worse for fact in _facts(one)),
    )


def _changes(raw: Mapping[str, Any]) -> Sequence[DomainChange]:
    """Those of the event, as far as this version can read them."""
    told = raw.get("changes")
    read = (decode_change(json.dumps(one)) for one in (told if isinstance(told, list) else ()))
    return [one for one in read if one is not None]


def _problems(alert: Alert, changes: Sequence[DomainChange]) -> Sequence[CheckReport]:
    now = alert.standing.get("dns")
    report = decode_report(json.dumps(now)) if now else None
    if report is not None:
        return _causes(report.checks)
    return _causes([one.after for one in changes if one.after.value is Value.PROBLEM])


def _causes(problems: Sequence[CheckReport]) -> Sequence[CheckReport]:
    """All of them, but of a domain that is gone only that it is: everything else follows from it."""
    gone = [one for one in problems if one.code is Code.NO_DOMAIN]
    return gone[:1] or problems


def _names(problems: Sequence[CheckReport]) -> str:
    if any(one.code is Code.NO_DOMAIN for one in problems):
        return "The domain doesn't exist in DNS: receivers reject its mail, and replies don't arrive."
    names = [name_of(one.check) for one in problems]
    last = " and ".join([", ".join(names[:-1]), names[-1]] if names[:-1] else names)
    return f"Receivers may reject or junk its mail: {last}."


def _facts(one: CheckReport) -> tuple[Fact, ...]:
    """What is wrong, the records as they are, and what to do."""
    return (
        Fact(label=name_of(one.check), value=clip(state_of(one), length=LONGEST), tone=Tone.BAD, brief=True),
        *facts_of(("Record", clip(" · ".join(one.records), length=LONGEST))),
        *facts_of(("What to do", clip(advice_of(one), length=LONGEST))),
    )


def _before_and_after(one: DomainChange) -> tuple[Fact, ...]:
    name = name_of(one.check)
    return facts_of(
        (f"{name} before", clip(" · ".join(one.before.records), length=LONGEST)),
        (f"{name} now", clip(" · ".join(one.after.records), length=LONGEST)),
    )
