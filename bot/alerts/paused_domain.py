"""The card of a paused domain: its inboxes, the reason, and what to do next. Pure.

Everything that isn't in the delivery comes from `Alert.standing`, which `bot.jobs.card_refresh` reads; it may be missing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from bot.alerts.model import Alert, domain_of
from bot.alerts.wording import facts_of, footer, when
from bot.blockkit.actions import ACK, OnAlert
from shared.commands.base import DOMAIN, clip
from shared.commands.domain import Domain
from shared.commands.inboxes import Inboxes
from shared.commands.pause import Pause
from shared.commands.status import Status
from shared.domain.card import Button, Card, Fact, Row, Table, Tone, columns, number
from shared.domain.evidence import rate_of
from shared.domain.paused_domains import advice, pause_reason
from shared.domain.wall_clock import moment
from shared.domain_health import wording
from shared.domain_health.encoding import decode_report
from shared.domain_health.report import CheckReport
from shared.text.formats import UNKNOWN, show_days, show_exact_span, show_number

COLUMNS = columns("Inbox", number("Health"), number("Limit"), "Status")
MOST_INBOXES, MOST_PAUSES = 3, 4
"""A phone shows three rows of inboxes beside the reason and the buttons."""
LONGEST = 200
"""Letters of what to do about a record; a key is whole on the card about DNS."""
_DNS_TONES = {"good": Tone.GOOD, "unknown": Tone.UNKNOWN}
SENDING = "sending"
"""The stage of a domain that sends again and is not well yet."""
_STATUS = {"active": "active", "warming": "warming up", "resting": "resting"}


def card(alert: Alert) -> Card:
    """Red while it is paused, amber while it warms up, green when it has recovered."""
    title, tone = headline(alert)
    why = clip(reason(alert), length=80)
    named = bool(why) and tone is Tone.BAD
    return Card(
        title=f"{title}: {why}" if named else title,
        tone=tone,
        notifies=True,
        text=_summary(alert),
        facts=(
            *(() if named and why == reason(alert) else _reason_fact(alert)),
            *_dns(alert),
            *facts_of(("Inbox", alert.event.inbox)),
            *_counts(alert.standing),
            *facts_of(("Guardrails", _guardrails(alert.standing))),
            *facts_of(("Affected sequences", _sequences(alert.standing))),
            when("Paused", alert.received_at),
            *_acknowledged(alert),
            *_back(alert),
        ),
        table=_inboxes(alert.standing.get("inboxes", ())),
        buttons=_buttons(alert),
        footer=footer(alert),
    )


def _reason_fact(alert: Alert) -> tuple[Fact, ...]:
    return facts_of(("Reason", reason(alert) or "not reported"), brief=True)


def headline(alert: Alert) -> tuple[str, Tone]:
    """What the card says first."""
    domain = name_of(alert)
    if alert.recovered_at:
        return f"{domain} has recovered", Tone.GOOD
    if alert.standing.get("stage") == SENDING:
        return f"{domain} is sending again", Tone.WARN
    return f"{domain} is paused", Tone.BAD


def _dns(alert: Alert) -> tuple[Fact, ...]:
    """What is wrong with its DNS, and since when; good and unknown as such, nothing where it isn't checked."""
    problems = dns_problems(alert)
    if problems:
        text = "; ".join(map(wording.headline, problems))
        since = min((one.since for one in problems if one.since), default=None)
        broken = (when("DNS broken since", since),) if since else ()
        return (Fact(label="DNS", value=clip(text, length=300), tone=Tone.BAD, brief=True), *broken)
    known = alert.standing.get("dns")
    return (Fact(label="DNS", value=known, tone=_DNS_TONES[known]),) if known in _DNS_TONES else ()


def dns_problems(alert: Alert) -> Sequence[CheckReport]:
    """What is known to be wrong with the DNS of the domain now."""
    known = alert.standing.get("dns")
    report = decode_report(json.dumps(known)) if isinstance(known, Mapping) else None
    return report.checks if report else ()


def name_of(alert: Alert) -> str:
    return clip(domain_of(alert.event) or "A domain")


def _back(alert: Alert) -> tuple[Fact, ...]:
    since = alert.standing.get("sending_at")
    sending = (when("Sending again since", moment(since)),) if since else ()
    return (*sending, *((when("Recovered", alert.recovered_at),) if alert.recovered_at else ()))


def _acknowledged(alert: Alert) -> tuple[Fact, ...]:
    if alert.acknowledged is None:
        return ()
    at = alert.acknowledged.at
    return (
        Fact(label="Acknowledged by", value=f"@{alert.acknowledged.name}"),
        when("Acknowledged", at),
    )


def inboxes_summary(rows: Sequence[Mapping[str, Any]]) -> str:
    """`All 3 inboxes are active; the lowest health is 84.`: no more than is known."""
    counts = Counter(_STATUS.get(row.get("status") or "", "of unknown status") for row in rows)
    words = [word for word in (*_STATUS.values(), "of unknown status") if counts[word]]
    scores = [row["health"] for row in rows if row.get("health") is not None]
    health = f"lowest health {min(scores):g}" if scores else "health unknown"
    if len(words) == 1:
        whole = "Its inbox is" if len(rows) == 1 else f"All {len(rows)} inboxes are"
        return f"{whole} {words[0]}; {health}."
    return f"Of {len(rows)} inboxes, {', '.join(f'{counts[word]} {_be(counts[word])} {word}' for word in words)}; {health}."


def _be(count: int) -> str:
    return "is" if count == 1 else "are"


def reason(alert: Alert) -> str:
    """What the service says, with the share of sends that it names."""
    return pause_reason(alert.event)


def _summary(alert: Alert) -> tuple[str, ...]:
    now = inboxes_summary(rows) if (rows := alert.standing.get("inboxes", ())) else ""
    if alert.recovered_at:
        took = show_exact_span(alert.recovered_at - alert.received_at)
        return tuple(filter(None, (f"It recovered after {took}.", now)))
    if alert.standing.get("stage") == SENDING:
        return (f"It is warming up: its daily limits start small and grow each day. {now}".strip(),)
    first = "The service stopped sending from this domain to protect its reputation."
    # What is wrong with the DNS comes first: without it, the rest is in vain.
    repairs = [clip(wording.advice_of(one), length=LONGEST) for one in dns_problems(alert)]
    if repairs:
        return (first, *(f"Next: {one}" for one in repairs if one), f"Then: {_advice(alert)}")
    return (first, f"Next: {_advice(alert)}")


def _advice(alert: Alert) -> str:
    seen: Mapping[str, int] = alert.standing.get("counts", {})
    bounced, left = seen.get("lead.bounced", 0), seen.get("lead.unsubscribed", 0)
    return advice(alert.event.reason or "", bounced=bounced, left=left)


def _counts(standing: Mapping[str, Any]) -> tuple[Fact, ...]:
    counts: Mapping[str, int] = standing.get("counts", {})
    lately: Mapping[str, int] = standing.get("lately", {})
    if not counts:
        return ()
    hard = counts.get("hard", 0)
    bounced = counts.get("lead.bounced", 0)
    bounces = show_number(bounced, "bounce") + (f" ({hard} hard)" if hard else "")
    window, known = show_exact_span(timedelta(seconds=standing.get("window", 0))), standing.get("known")
    span = "7 days" if known is None else show_exact_span(timedelta(seconds=known))
    more = "" if known is None else "; earlier ones aren't known"
    recent = facts_of((f"In the last {'hour' if window == '1 h' else window}", _troubles(lately)))
    return (
        *(recent if any(lately.values()) and (known is None or known > standing.get("window", 0)) else ()),
        Fact(label=f"Last {span}", value=f"{bounces}, {_opt_outs(counts)}{more}"),
        *facts_of(("Bounce rate", _bounce_rate(standing.get("rate"), short="" if known is None else span))),
    )


def _guardrails(standing: Mapping[str, Any]) -> str:
    """What rules found on the domain: it has no message of its own beside this card."""
    found: Sequence[Sequence[str]] = standing.get("guardrails", ())
    return clip("; ".join(f"{rule}: {note}" for rule, note in found), length=LONGEST)


def _bounce_rate(rate: Mapping[str, Any] | None, *, short: str) -> str:
    """Of the days whose bounces and sends are both known, which it names; empty where the sends are unknown."""
    if rate is None:
        return f"unknown: only {short} of bounces are known" if short else ""
    found = rate_of(rate["bounced"], rate["sends"])
    days = show_days(date.fromisoformat(rate["first"]), date.fromisoformat(rate["last"]))
    return f"{found.with_counts}, {days}" if found else ""


def _troubles(counts: Mapping[str, int]) -> str:
    return f"{show_number(counts.get('lead.bounced', 0), 'bounce')}, {_opt_outs(counts)}"


def _opt_outs(counts: Mapping[str, int]) -> str:
    return show_number(counts.get("lead.unsubscribed", 0), "opt-out")


def _sequences(standing: Mapping[str, Any]) -> str:
    troubles = dict(standing.get("troubles", ()))
    others = [name for name in standing.get("sequences", ()) if name not in troubles]
    counted = [f"{clip(name, length=40)} ({count:,})" for name, count in troubles.items()]
    return ", ".join((*counted, *(clip(name, length=40) for name in others)))


def _inboxes(rows: Sequence[Mapping[str, Any]]) -> Table | None:
    if not rows:
        return None
    worst = sorted(rows, key=lambda row: (_WORST.get(_tone(row), len(_WORST)), row.get("health") or 0))
    drawn = tuple(
        Row(
            cells=(row["address"], _moved(row, "health"), _moved(row, "limit"), row.get("status") or UNKNOWN),
            tone=_tone(row),
        )
        for row in worst[:MOST_INBOXES]
    )
    return Table(columns=COLUMNS, rows=drawn, total=len(rows))


_WORST = {Tone.BAD: 0, Tone.WARN: 1, Tone.UNKNOWN: 2}


def _tone(row: Mapping[str, Any]) -> Tone:
    return Tone(row.get("tone") or Tone.INFO)


def _moved(row: Mapping[str, Any], name: str) -> str | float | None:
    """`93 → 62`: the figure of the day before the pause, where it was another, and that of now."""
    before: float | None = row.get(f"{name}_before")
    now: float | None = row.get(name)
    return now if before is None or before == now or now is None else f"{before:g} → {now:g}"


def _buttons(alert: Alert) -> tuple[Button, ...]:
    domain = domain_of(alert.event)
    looking = (
        (
            Button(label="Show domain", action=Domain(name=domain.lower()), workspace=alert.workspace),
            Button(label="Show inboxes", action=Inboxes(filter=domain), workspace=alert.workspace),
        )
        if domain
        else ()
    )
    settled = alert.recovered_at or alert.standing.get("stage") == SENDING
    acknowledged = alert.acknowledged or alert.recovered_at
    return (
        *(
            ()
            if acknowledged
            else (Button(label="Acknowledge", action=OnAlert(verb=ACK, alert=alert.id), tone=Tone.GOOD),)
        ),
        *(() if settled or not domain else _pausing(alert, domain)),
        *looking,
        Button(label="Status", action=Status(), workspace=alert.workspace),
    )


def _pausing(alert: Alert, domain: str) -> tuple[Button, ...]:
    names = alert.standing.get("sequences", ())
    label = f"Pause all {len(names)} …" if len(names) > 1 else "Pause all …"
    every = Button(
        label=label, action=Pause(target=(f"{DOMAIN}{domain}",)), workspace=alert.workspace, tone=Tone.BAD
    )
    single = (
        Button(
            label=f"Pause {clip(name, length=40)}",
            action=Pause(target=(name,)),
            workspace=alert.workspace,
            menu=True,
        )
        for name in names[:MOST_PAUSES]
    )
    return (every, *single)
