"""What to do about an alarm: its cause, the numbers behind it, and the keys that help. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from shared.api.models import Sequence as SequenceModel
from shared.domain import failures, totals
from shared.domain.card import Tone
from shared.domain.evidence import rate_of
from shared.domain.paused_domains import advice
from shared.domain.workspace_verdict import DOMAIN_KINDS, GUARDRAIL
from shared.records.domains import DomainPast
from shared.text.formats import show_exact_span, show_number
from tui.model.news.alarms import Alarm
from tui.model.workspace.board import Board
from tui.theme import formatting

Act = Literal["pause", "open", "guardrails", "refresh"]
COVERED = timedelta(days=30)
"""What the counts of the service and of the bot's records cover."""
NAMED = 4
"""Sequences that a step names."""
_CAUSES = {
    failures.REJECTED: "create a new key in the account settings and set OUTREACH_API_KEY.",
    failures.RATE_LIMITED: "wait: reading resumes automatically. If it happens often, lower OUTREACH_RATE, or stop other programs that use this key.",
    failures.UNREADABLE: "check OUTREACH_BASE_URL: something else than the service may answer there.",
    failures.UNREACHABLE: "check the network and OUTREACH_BASE_URL. `outreach doctor` in a shell names what fails.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Something that helps, with its key."""

    act: Act
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """What is known of an alarm, and what to do."""

    facts: tuple[tuple[str, str, Tone], ...] = ()
    """Label and value."""
    steps: tuple[Step, ...] = ()
    sequences: tuple[SequenceModel, ...] = ()
    """What the step `pause` pauses."""


def remedy_of(alarm: Alarm, *, board: Board | None, past: DomainPast | None, now: datetime) -> Remedy:
    """`past`: what the bot recorded of the alarm's domain; None where that isn't known."""
    if alarm.kind in DOMAIN_KINDS:
        return _of_domain(alarm, board=board, past=past, now=now)
    if alarm.kind == GUARDRAIL:
        return _of_guardrail(alarm, board=board)
    do = next(
        (text for cause, text in _CAUSES.items() if alarm.kind.startswith(cause)),
        "`outreach doctor` in a shell checks what fails.",
    )
    again = Step(act="refresh", text="read everything again now")
    return Remedy(
        facts=(("Cause", alarm.text, Tone.INFO), ("Do", do, Tone.INFO)), steps=(again,) if alarm.is_on else ()
    )


def _of_domain(alarm: Alarm, *, board: Board | None, past: DomainPast | None, now: datetime) -> Remedy:
    domain = alarm.where
    facts = [
        ("Cause", _cause(alarm, past), Tone.INFO),
        ("Bounces", _bounces(domain, board=board, past=past, now=now), Tone.INFO),
        ("Rest", _rest(alarm, now=now), Tone.INFO),
    ]
    if alarm.is_on:
        given = past or DomainPast()
        facts.append(("Do", advice(given.reason, bounced=given.bounced, left=given.opted_out), Tone.INFO))
    used = _named(board, past.sequences if past else ())
    active = tuple(one for one in used if one.status == "active")
    steps = [Step(act="open", text=f"open {domain}")]
    if active and alarm.is_on:
        what = "the sequence" if len(active) == 1 else f"the {len(active)} active sequences"
        steps.insert(0, Step(act="pause", text=f"pause {what} that used it: {_names(active)}"))
    elif alarm.is_on:
        facts.append(("Sequences", _no_sequences(used, past, now=now), Tone.INFO))
    return Remedy(facts=tuple(facts), steps=tuple(steps), sequences=active if alarm.is_on else ())


def _cause(alarm: Alarm, past: DomainPast | None) -> str:
    if past and past.reason:
        return f"{past.reason}, says the service"
    return f"{alarm.text} (no reason is recorded)" if past and alarm.kind == "paused" else alarm.text


def _bounces(domain: str, *, board: Board | None, past: DomainPast | None, now: datetime) -> str:
    """The share of the sends of thirty days; the count alone where not all of them are known."""
    if past is None or past.known_from is None:
        return "unknown: only a bot's database has them"
    opted_out = show_number(past.opted_out, "opt-out")
    if past.known_from > now - COVERED:
        since = formatting.moment(past.known_from, now=now)
        return (
            f"{show_number(past.bounced, 'bounce')} and {opted_out} since {since}; earlier ones aren't known"
        )
    lines = [line for line in board.inboxes if line.inbox.domain == domain] if board else []
    sends = totals.totals(line.stats for line in lines if line.stats).sends
    rate = rate_of(past.bounced, sends)
    bounced = rate.with_counts if rate else show_number(past.bounced, "bounce")
    return f"{bounced} and {opted_out} in 30 days"


def _rest(alarm: Alarm, *, now: datetime) -> str:
    if not alarm.is_on and alarm.recovered_at:
        lasted = show_exact_span(max(alarm.recovered_at - alarm.since, timedelta()))
        return f"over at {formatting.moment(alarm.recovered_at, now=now)}, after {lasted}"
    if alarm.kind == "bad":
        return "none: its inboxes still send"
    lasting = show_exact_span(max(now - alarm.text_since, timedelta()))
    since = alarm.since_words(now)
    return f"{show_number(alarm.extent, 'inbox')} at rest, since {since}" + (
        "" if since.startswith("before") else f" ({lasting})"
    )


def _named(board: Board | None, names: Sequence[str]) -> tuple[SequenceModel, ...]:
    """The sequences of the account with these names; one name may be that of several."""
    wanted = {name.casefold() for name in names}
    lines = board.sequences if board else ()
    return tuple(
        line.sequence for line in lines if line.sequence.label.casefold() in wanted or line.key in names
    )


def _names(sequences: Sequence[SequenceModel]) -> str:
    more = f" and {len(sequences) - NAMED} more" if len(sequences) > NAMED else ""
    return ", ".join(one.label for one in sequences[:NAMED]) + more


def _no_sequences(used: Sequence[SequenceModel], past: DomainPast | None, *, now: datetime) -> str:
    if past is None or past.known_from is None:
        return "which ones used it is unknown: only a bot's database tells"
    if used:
        return f"none that used it is active ({_names(used)})"
    since = (
        "in 30 days"
        if past.known_from <= now - COVERED
        else f"since {formatting.moment(past.known_from, now=now)}"
    )
    return f"none was seen sending from it {since}"


def _of_guardrail(alarm: Alarm, *, board: Board | None) -> Remedy:
    """A rule is about a sequence, an inbox, a domain or the workspace."""
    steps = [Step(act="guardrails", text="all guardrails, with their distance to the threshold")]
    active = tuple(one for one in _named(board, (alarm.where,)) if one.status == "active")
    domains = {one.domain for one in board.domains} if board else set()
    if alarm.where in domains:
        steps.insert(0, Step(act="open", text=f"open {alarm.where}"))
    if active:
        steps.insert(0, Step(act="pause", text=f"pause {_names(active)}"))
    return Remedy(facts=(("Cause", alarm.text, Tone.INFO),), steps=tuple(steps), sequences=active)
