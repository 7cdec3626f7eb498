"""Cards about a domain, an inbox, a sequence or a trouble of the service, with what to do. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from shared.api.models import StatsRow
from shared.domain import evidence, health, snapshot
from shared.domain.card import Card, Fact, Tone
from shared.domain.paused_domains import advice
from shared.domain.wall_clock import moment
from shared.domain.workspace_verdict import Condition
from shared.frozen import frozen
from shared.records import DomainPast
from shared.text.formats import show_count, show_number, show_some, show_span
from tui.model.board import LABELS
from tui.model.frame import DomainLine, Frame
from tui.model.happened import Mark
from tui.model.lines import SequenceLine
from tui.theme.words import clock, day_and_time

COVERED = timedelta(days=30)
"""The time that the counts of the service and of the bot's records cover."""
NAMED = 4
"""Sequences that a fact names."""
LATELY = 5
"""Changes that a card names."""
CURES = {
    snapshot.REJECTED: "Create a new key in the account settings and set OUTREACH_API_KEY.",
    snapshot.RATE_LIMITED: (
        "Wait: reading resumes automatically. If it happens often, lower OUTREACH_RATE, or stop other programs "
        "that use this key."
    ),
    snapshot.UNREADABLE: "Check OUTREACH_BASE_URL: something else than the service may answer there.",
    snapshot.UNREACHABLE: (
        "Check the network and OUTREACH_BASE_URL. `outreach doctor` in a shell names what fails."
    ),
    snapshot.SLOW: "Wait: reading goes on. `outreach doctor` in a shell measures the service.",
}
NO_RECORDS = "unknown, as are its sequences: the bot's database has them"
ALONE = "The service groups counts by one field only, so steps and variants cover the whole workspace."


@frozen
class Read:
    """Facts that were read for one page beside the frame: the bot's records of a domain, and its DNS."""

    past: DomainPast | None = None
    dns: tuple[Fact, ...] = ()
    advice: tuple[str, ...] = ()
    sent_today: int | None = None


def service_facts(service: Condition, *, frame: Frame) -> tuple[Fact, ...]:
    """Say why nothing can be read, and what to do."""
    cure = CURES.get(service.kind, "`outreach doctor` in a shell checks what fails.")
    errors = [stamp.reading.error for stamp in frame.board.stamps.values() if stamp.reading.error]
    return (
        Fact("Service", f"{service.text} {frame.lasting(service)}", tone=Tone.BAD),
        *(Fact("Error", error) for error in errors[:1]),
        Fact("Do", cure),
    )


def domain_card(frame: Frame, line: DomainLine, read: Read, *, is_brief: bool = False) -> Card:
    """Say why a domain stands as it does, since when, what feeds it, what to do, and what happened before."""
    past = read.past or frame.board.domain_facts.pasts.get(line.key)
    condition = frame.conditions.get(line.key)
    since = frame.lasting(condition) if condition else ""
    facts = [Fact("State", " ".join(filter(None, (line.state, since))), tone=line.tone)]
    if line.tone is not Tone.GOOD:
        facts.append(Fact("Why", line.cause))
    if past and past.known_from:
        facts.append(Fact("Bounces", _bounces(frame, line.key, past, since=past.known_from)))
    facts += [fact for fact in read.dns if not is_brief or fact.tone not in {Tone.GOOD, Tone.INFO}]
    if past and past.known_from:
        facts.append(Fact("Sequences", _sequences(frame, past, since=past.known_from)))
    elif condition and not frame.is_past:  # how many they were then isn't known
        facts.append(Fact("Bounces", NO_RECORDS))
    if condition:
        given = past or DomainPast()
        what = advice(given.reason, bounced=given.bounced, left=given.opted_out)
        facts.append(Fact("Do", what[0].upper() + what[1:]))
    facts += [Fact("Next", step) for step in read.advice]
    if not is_brief:
        facts += _before(past, now=frame.now)
        facts += _whole_domain(frame, line)
    seen = lately(frame.changes, line.key, title=line.key)
    return Card(title=line.key, tone=line.tone, facts=tuple(facts), footer="" if is_brief else seen)


def _bounces(frame: Frame, domain: str, past: DomainPast, *, since: datetime) -> str:
    """The share of the sends of thirty days; the count alone where not all of them are known."""
    opted_out = show_number(past.opted_out, "opt-out")
    if since > frame.now - COVERED:
        start = clock(since, now=frame.now)
        return (
            f"{show_number(past.bounced, 'bounce')} and {opted_out} since {start}; earlier ones aren't known"
        )
    sends = evidence.totals(line.stats for line in frame.inboxes_of(domain) if line.stats).sends
    rate = evidence.rate_of(past.bounced, sends)
    bounced = rate.with_counts if rate else show_number(past.bounced, "bounce")
    return f"{bounced} and {opted_out} in 30 days"


def _sequences(frame: Frame, past: DomainPast, *, since: datetime) -> str:
    """Which ones send from it, those that are active first."""
    if used := frame.sequences_named(past.sequences):
        ordered = sorted(used, key=lambda line: line.sequence.status != "active")
        return show_some([f"{line.label} ({line.sequence.status or 'unknown'})" for line in ordered], NAMED)
    is_whole = since <= frame.now - COVERED
    return f"none was seen sending from it {'in 30 days' if is_whole else f'since {clock(since, now=frame.now)}'}"


def _whole_domain(frame: Frame, line: DomainLine) -> tuple[Fact, ...]:
    inboxes, domain = frame.inboxes_of(line.key), line.domain
    stood = ((kind, getattr(domain, kind)) for kind in health.KINDS)
    sent = evidence.totals(inbox.stats for inbox in inboxes if inbox.stats)
    return (
        Fact("Inboxes", ", ".join(f"{n:,} {kind.replace('_', ' ')}" for kind, n in stood if n)),
        Fact("Lowest health", _score(domain.lowest), tone=line.tone),
        Fact("Daily limit", show_count(evidence.total([inbox.inbox.daily_limit for inbox in inboxes]))),
        *_counts(sent if any(inbox.stats for inbox in inboxes) else None),
    )


def _before(past: DomainPast | None, *, now: datetime) -> tuple[Fact, ...]:
    """Earlier pauses, the newest first."""
    pauses = []
    for pause in past.pauses if past else ():
        if pause.recovered_at is None:
            continue
        lasted = show_span(pause.recovered_at - pause.at)
        reason = f": {pause.reason}" if pause.reason else ""
        pauses.append(f"paused {clock(pause.at, now=now)} for {lasted}{reason}")
    return (Fact("Before", "; ".join(pauses)),) if pauses else ()


def inbox_card(frame: Frame, email: str, read: Read) -> Card | None:
    line = frame.board.lines.get(email)
    if line is None:
        return None
    inbox = line.inbox
    domain = frame.domain(inbox.domain)
    about = (f"{domain.key}: {domain.state}{f', {domain.cause}' if domain.cause else ''}.",) if domain else ()
    facts = (
        Fact("Verdict", line.verdict.word, tone=line.tone),
        Fact("Health", _score(inbox.health_score), tone=line.tone),
        Fact("Status", inbox.status or "unknown"),
        Fact("Daily limit", show_count(inbox.daily_limit)),
        *_today(read.sent_today, inbox.daily_limit),
        *_counts(line.stats),
    )
    text = (*line.verdict.reasons, *about)
    own = [mark for mark in frame.changes if mark.subject in {email, inbox.domain}]
    seen = lately(own, inbox.domain, title=email)
    return Card(title=email, tone=line.tone, text=text, facts=facts, footer=seen)


def _today(sent: int | None, limit: int | None) -> tuple[Fact, ...]:
    """Today's sends against the limit."""
    if sent is None:
        return ()
    is_reached = limit is not None and sent >= limit
    of = f" of {limit:,}" if limit is not None else ""
    tone = Tone.WARN if is_reached else Tone.INFO
    return (Fact("Sent today", f"{sent:,}{of}{': limit reached' if is_reached else ''}", tone=tone),)


def sequence_card(frame: Frame, line: SequenceLine) -> Card:
    pause = line.pause
    paused = {"Paused until": day_and_time(moment(pause.until)), "Paused by": pause.by} if pause else {}
    facts = (
        Fact("Status", line.pending or line.sequence.status or "unknown", tone=line.tone),
        *(Fact(label, value) for label, value in paused.items() if value),
        Fact("Steps", show_count(line.sequence.steps)),
        *_counts(line.stats),
    )
    seen = lately(frame.changes, line.key, title=line.sequence.label)
    return Card(title=line.sequence.label, tone=line.tone, text=(line.key, ALONE), facts=facts, footer=seen)


def lately(changes: Iterable[Mark], about: str, *, title: str) -> str:
    """The last changes about a domain or a sequence; the title of the card needs no name in them."""
    lines = []
    for mark in changes:
        if mark.about == about:
            whose = "" if mark.subject == title else f"{mark.subject} "
            lines.append(f"{day_and_time(mark.at)}  {whose}{mark.text}")
    return "\n".join(lines[:LATELY])


def _score(value: float | None) -> str:
    """`73 of 100`."""
    return "unknown" if value is None else f"{value:g} of 100"


def _counts(stats: StatsRow | None) -> tuple[Fact, ...]:
    """The four counts of 30 days, with their share of the sends."""
    if stats is None:
        return ()
    facts = [Fact("Sent, 30 days", show_count(stats.sends))]
    for label, name in [*LABELS.items()][1:]:
        value = getattr(stats, name)
        share = evidence.share(value, stats.sends)
        rate = "" if share is None else f"  ({evidence.show(value, stats.sends)})"
        facts.append(Fact(label, show_count(value) + rate))
    return tuple(facts)
