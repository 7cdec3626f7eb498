"""What the bot recorded: marks on lanes, and why and since when domains are paused."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from shared.domain.dns_facts import in_dns
from shared.domain.snapshot import Snapshot
from shared.records.domains import DomainPast
from shared.records.records import RecordsUnavailable
from tui.model import happened
from tui.theme.marks import Mark

if TYPE_CHECKING:
    from shared.store.history import Records

logger = logging.getLogger(__name__)
LOOK_BACK = timedelta(days=30)


async def read_marks(
    records: Records, snapshot: Snapshot, *, start: datetime, end: datetime
) -> Sequence[Mark]:
    """Pauses and by whom, paused domains, lost replies, guardrails, DNS; nothing where the bot's database doesn't answer."""
    names = {one.id: one.label for one in snapshot.sequences.value or ()}
    domains = frozenset(in_dns(one.domain) for one in snapshot.inboxes.value or () if one.domain)
    try:
        period = await records.period(snapshot.workspace, start, end, late=0.0)
        fired = await records.guardrails.incidents(snapshot.workspace, start.timestamp())
        dns = await records.domains.changes(domains, start)
    except RecordsUnavailable as error:
        logger.info("what the bot recorded: %s", error)
        return ()
    others = (*happened.of_incidents(fired), *happened.of_dns(dns))
    return (*happened.of_period(period, names=names), *(mark for mark in others if start <= mark.at <= end))


async def read_pasts(
    records: Records, workspace: str, domains: Iterable[str], *, now: datetime
) -> Mapping[str, DomainPast]:
    """What the bot recorded of domains in the last 30 days; without those whose records can't be read now."""
    found: dict[str, DomainPast] = {}
    try:
        for domain in domains:
            found[domain] = await records.domain_past(workspace, domain, now - LOOK_BACK)
    except RecordsUnavailable as error:
        logger.info("what happened to domains: %s", error)
    return found


def pause_starts(pasts: Mapping[str, DomainPast]) -> Mapping[str, float]:
    """Since when domains are paused by the service's own words, which come before a poll sees it."""
    return {
        domain: past.pauses[0].at.timestamp()
        for domain, past in pasts.items()
        if past.pauses and past.pauses[0].recovered_at is None
    }
