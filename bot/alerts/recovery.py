"""The recovery of a paused domain: it rests, sends again with small limits, and is healthy again. Pure.

The service doesn't report it, so it is derived from the domain's inboxes, now and before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from bot.alerts import notes
from bot.alerts.paused_domain import RECOVERED, SENDING, inboxes_summary, problems_in
from shared.api.models import Inbox
from shared.commands.base import clip
from shared.domain.card import Card, Tone
from shared.domain.health import Thresholds, verdict
from shared.store.messages import INCIDENT, PlannedPost
from shared.store.rows import AlertRow
from shared.text.formats import show_exact_span


def domain_state(
    inboxes: Sequence[Inbox], *, before: Mapping[str, Any], thresholds: Thresholds
) -> dict[str, Any]:
    """The state of a domain; `before` is its state at the last check, empty at first."""
    well = all(
        inbox.status == "active" and verdict(inbox, thresholds=thresholds).tone is Tone.GOOD
        for inbox in inboxes
    )
    rests = any(inbox.status == "resting" for inbox in inboxes)
    troubled, rested = bool(before.get("troubled")) or not well, bool(before.get("rested")) or rests
    return {
        "inboxes": [{"health": inbox.health_score, "status": inbox.status} for inbox in inboxes],
        "troubled": troubled,
        "rested": rested,
        "stage": _stage(well=well and troubled, sends=rested and not rests) if inboxes else "",
    }


def _stage(*, well: bool, sends: bool) -> str:
    return RECOVERED if well else SENDING if sends else ""


def note(one: AlertRow, now: Mapping[str, Any], *, at: float) -> PlannedPost:
    """The message for thread and channel about a domain that is sending again or has recovered."""
    well, broken = now["stage"] == RECOVERED, bool(problems_in(now))
    took = show_exact_span(timedelta(seconds=at - one.received_at))
    but = ", but its DNS is broken" if broken else ""
    card = Card(
        title=f"{clip(one.domain)} {'has recovered' if well else 'is sending again'}{but}",
        tone=Tone.BAD if broken else Tone.GOOD if well else Tone.WARN,
        text=(f"After {took}: {inboxes_summary(now['inboxes'])}.",),
    )
    return PlannedPost(
        dedupe=f"{one.id}:{now['stage']}",
        channel="",
        kind="recovered",
        urgency=INCIDENT,
        note=notes.write_note(card),
        condensed=True,
        alert_id=one.id,
    )
