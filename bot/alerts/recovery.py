"""The recovery of a paused domain: it rests, sends again with small limits, and is healthy again. Pure.

The service doesn't report it, so it is derived from the domain's inboxes, now and before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from bot.alerts import rendering
from bot.alerts.paused_domain import SENDING, inboxes_summary
from shared.api.models import Inbox
from shared.commands.base import clip
from shared.domain.card import Card, Tone
from shared.domain.health import Thresholds, verdict
from shared.store.queue.alert_row import AlertRow
from shared.store.queue.outbox import PlannedPost
from shared.store.queue.posts import INCIDENT
from shared.text.formats import show_exact_span

RECOVERED = "recovered"
"""The stage of a domain whose inboxes are all active and healthy."""

Past = Mapping[str, tuple[float | None, float | None]]
"""Health and limit by address."""


def domain_state(
    inboxes: Sequence[Inbox], *, before: Mapping[str, Any], past: Past, thresholds: Thresholds, now: float
) -> dict[str, Any]:
    """The state of a domain; `before` is its state at the last check, empty at first."""
    known = {row["address"]: row for row in before.get("inboxes", ())}
    verdicts = [verdict(inbox, thresholds=thresholds) for inbox in inboxes]
    well = all(
        inbox.status == "active" and one.tone is Tone.GOOD
        for inbox, one in zip(inboxes, verdicts, strict=True)
    )
    rests = any(inbox.status == "resting" for inbox in inboxes)
    troubled, rested = bool(before.get("troubled")) or not well, bool(before.get("rested")) or rests
    stage = _stage(well=well and troubled, sends=rested and not rests) if inboxes else ""
    return {
        "inboxes": [
            _row(inbox, tone=one.tone, known=known.get(inbox.email), past=past)
            for inbox, one in zip(inboxes, verdicts, strict=True)
        ],
        "troubled": troubled,
        "rested": rested,
        "stage": stage,
        "sending_at": (before.get("sending_at") or now) if stage == SENDING else before.get("sending_at"),
    }


def _stage(*, well: bool, sends: bool) -> str:
    return RECOVERED if well else SENDING if sends else ""


def _row(inbox: Inbox, *, tone: Tone, known: Mapping[str, Any] | None, past: Past) -> dict[str, Any]:
    health, limit = past.get(inbox.email, (None, None))
    return {
        "address": inbox.email,
        "health": inbox.health_score,
        "limit": inbox.daily_limit,
        "status": inbox.status,
        "tone": tone,
        "health_before": known.get("health_before") if known else health,
        "limit_before": known.get("limit_before") if known else limit,
    }


def note(one: AlertRow, now: Mapping[str, Any], *, at: float) -> PlannedPost:
    """The message for thread and channel about a domain that is sending again or has recovered."""
    well = now["stage"] == RECOVERED
    took = show_exact_span(timedelta(seconds=at - one.received_at))
    card = Card(
        title=f"{clip(one.domain)} {'has recovered' if well else 'is sending again'}",
        tone=Tone.GOOD if well else Tone.WARN,
        text=(f"After {took}. {inboxes_summary(now['inboxes'])}",),
    )
    return PlannedPost(
        dedupe=f"{one.id}:{now['stage']}",
        channel="",
        kind="recovered",
        urgency=INCIDENT,
        note=rendering.write_note(card),
        condensed=True,
        alert_id=one.id,
    )
