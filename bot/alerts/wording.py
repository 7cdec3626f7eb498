"""Texts that all alert cards share: lead, times and durations. Pure."""

from __future__ import annotations

from datetime import date, datetime

from shared.api.event_kinds import kind_of
from shared.api.events import Event
from shared.domain.alert import Alert
from shared.domain.card import Fact
from shared.text import links
from shared.text.formats import clip

LATE = "arrived late (no webhook)"


def about(event: Event) -> str:
    """`Ada Lovelace at Acme`, as far as it is known."""
    name = clip(event.lead.name or event.domain or event.inbox or "Someone")
    return f"{name} at {clip(event.lead.company, length=40)}" if event.lead.company else name


def introduced(event: Event) -> str:
    """`Ada Lovelace, CTO at Acme`, as far as it is known."""
    if not (event.lead.title and event.lead.name):
        return about(event)
    job = clip(event.lead.title, length=60)
    place = f"{job} at {clip(event.lead.company, length=40)}" if event.lead.company else job
    return f"{clip(event.lead.name)}, {place}"


def campaign_of(event: Event) -> str | None:
    """`Q3 founders · step 2 · sam@mail.example`, as far as it is known."""
    step = None if event.step is None else f"step {event.step}"
    return " · ".join(filter(None, (event.sequence, step, event.inbox))) or None


def facts_of(*pairs: tuple[str, str | None], brief: bool = False) -> tuple[Fact, ...]:
    return tuple(Fact(label=label, value=value, brief=brief) for label, value in pairs if value)


def answer_link(event: Event) -> str:
    """Opens an answer to the reply, under its own subject where the delivery tells it."""
    subject = event.raw.get("subject")
    own = subject if isinstance(subject, str) else ""
    return links.answer_link(event.lead.email, event.reply or "", subject=own) if event.lead.email else ""


def when(label: str, at: datetime) -> Fact:
    return Fact(label=label, value=show_time(at), at=at)


def show_time(at: datetime) -> str:
    return f"{at:%-d %b %H:%M} UTC"


def show_day(text: str) -> str:
    """`2026-12-01` as `Tue 1 Dec 2026`; anything else unchanged."""
    day = day_of(text)
    return f"{day:%a %-d %b %Y}" if day else text


def day_of(text: str) -> date | None:
    """The day of `2026-12-01` or of a moment that begins so; None for anything else."""
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        return None


def footer(alert: Alert) -> str:
    """The workspace where there are several, and whether it was found later than it should have come."""
    is_late = alert.found and not kind_of(alert.event.kind).own
    return " · ".join(filter(None, (alert.workspace, LATE if is_late else "")))
