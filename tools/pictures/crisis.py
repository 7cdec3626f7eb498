"""The scenario `deliverability-crisis`, read from the sandbox at each moment as a dashboard and a bot read it.

Every number of the pictures is of this one account: the same seed and start give the same course.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from sandbox.service import Service
from sandbox.service.campaign import EventRequest
from shared.api.client import OutreachClient
from shared.api.events import Event, read_event
from shared.api.models import Page
from shared.api.pace import BudgetState
from shared.domain.event_kinds import INTERESTED, PAUSED
from shared.domain.paused_domains import pause_reason
from shared.domain.reply_queue import QueuedReply
from shared.domain.snapshot import SOURCES, Reading, Snapshot
from shared.records import DomainPast, DomainPause
from tests.kit.pace import NoPacing
from tui.model.board import DomainFacts

START = datetime(2026, 11, 18, 8, 0, tzinfo=UTC)
"""The account begins on a Wednesday morning."""
CALM, FIRST, WORST, OVER = 0.0, 1.0, 7.75, 24.0
"""Hours after the start: nothing is paused, the first domain is, all four are, and all of them warm up again."""
STEP = 0.25
"""Hours between two reads: gaps in the history begin at twenty minutes."""
KINDS = (INTERESTED, PAUSED, "lead.bounced", "lead.unsubscribed")
REPLIES = (1.5, 3.0, 4.25, 5.5, 6.0, 6.75)
"""Hours at which a lead replies with interest."""


Events = Sequence[tuple[datetime, Event]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The account at a moment: as it was read, with what the bot recorded."""

    snapshot: Snapshot
    facts: DomainFacts
    replies: Sequence[QueuedReply]


def at(hours: float) -> datetime:
    """Return the moment that many hours after the start."""
    return START + timedelta(hours=hours)


async def play() -> Mapping[float, Moment]:
    """Play the scenario, and return its moments by their hours."""
    moments: dict[float, Moment] = {}
    async with Service(scenario="deliverability-crisis", speed=0, now=START.timestamp()) as service:
        service.guard.limited = False
        # Nothing listens there: what waits for this subscriber is what a bot would have recorded.
        service.deliveries.subscribe(workspace=1, url="http://127.0.0.1:9/", events=KINDS, now=service.now())
        key = service.api_keys["acme"]
        # The service's own limit is off too: it is read nine hundred times.
        async with OutreachClient(base_url=service.base_url, api_key=key, pacer=NoPacing()) as client:
            for number in range(int(OVER / STEP) + 1):
                hours = number * STEP
                service.clock.advance(at(hours).timestamp() - service.now())
                await service.catch_up()
                if hours in REPLIES:
                    service.campaign.trigger(EventRequest(kind=INTERESTED, workspace=1))
                snapshot = await _read(client, now=at(hours))
                events = [(one.first_at, read_event(one.body)) for one in service.deliveries.all.values()]
                known = [
                    (datetime.fromtimestamp(when, UTC), one) for when, one in events if isinstance(one, Event)
                ]
                moments[hours] = Moment(snapshot=snapshot, facts=_facts(known), replies=_replies(known))
    return moments


async def _read(client: OutreachClient, *, now: datetime) -> Snapshot:
    snapshot = Snapshot(workspace="acme", budget=BudgetState(rate=9.5, used_last_second=2))
    for source in SOURCES.values():
        # For the account's own day: its clock stands still while it is read.
        value = await source.read(client, now.date())
        items, more = (value.items, bool(value.next_cursor)) if isinstance(value, Page) else (value, False)
        snapshot = snapshot.with_reading(source, Reading(value=items, read_at=now, more=more))
    return snapshot


def _facts(known: Events) -> DomainFacts:
    """What a bot has recorded of the paused domains."""
    pasts: dict[str, DomainPast] = {}
    for when, event in known:
        if event.kind == PAUSED and event.domain:
            pause = DomainPause(at=when, reason=pause_reason(event))
            sent = [one for _, one in known if (one.inbox or "").endswith(f"@{event.domain}")]
            bounces = [one for one in sent if one.kind == "lead.bounced"]
            pasts[event.domain] = DomainPast(
                reason=pause.reason,
                pauses=(pause,),
                bounced=len(bounces),
                hard=sum(one.bounce_type == "hard" for one in bounces),
                opted_out=sum(one.kind == "lead.unsubscribed" for one in sent),
                known_from=START,
                sequences=tuple(dict.fromkeys(one.sequence or "" for one in bounces))[:3],
            )
    return DomainFacts(pasts=pasts)


def _replies(known: Events) -> Sequence[QueuedReply]:
    """The queue of interested replies, unclaimed ones first; the oldest is claimed, the next one snoozed."""
    replies = [
        QueuedReply(
            alert_id=f"al_{number}",
            received_at=when,
            lead=event.lead.name,
            email=event.lead.email or "",
            company=event.lead.company or "",
            sequence=event.sequence or "",
            text=event.reply or "",
        )
        for number, (when, event) in enumerate(known)
        if event.kind == INTERESTED
    ]
    if len(replies) > 1:
        claimed = replies[0].received_at + timedelta(minutes=4)
        replies[0] = replace(replies[0], claimed_by="ben", claimed_at=claimed)
        replies[1] = replace(replies[1], snoozed_until=at(WORST + 2))
    return sorted(replies, key=lambda reply: not reply.is_unclaimed)
