"""What the bot recorded: marks on plots and lanes, and since when domains are paused."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from shared.domain.dns_facts import in_dns
from shared.domain.snapshot import Snapshot
from shared.records.records import Records, RecordsUnavailable
from tui.model.plots import marks
from tui.theme.marks import Mark

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
    others = (*marks.of_incidents(fired), *marks.of_dns(dns))
    return (*marks.of_period(period, names=names), *(mark for mark in others if start <= mark.at <= end))


async def read_pause_starts(
    records: Records, workspace: str, domains: Iterable[str], *, now: datetime
) -> Mapping[str, float]:
    """Since when domains are paused by the service's own words, which come before a poll sees it; without those unknown."""
    starts: dict[str, float] = {}
    try:
        for domain in domains:
            past = await records.domain_past(workspace, domain, now - LOOK_BACK)
            if past.pauses and past.pauses[0].recovered_at is None:
                starts[domain] = past.pauses[0].at.timestamp()
    except RecordsUnavailable as error:
        logger.info("since when domains are paused: %s", error)
    return starts
