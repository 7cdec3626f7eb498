"""Checks the DNS of the sending domains: when they are due, when their health falls, and when they are paused.

One bot at a time checks one domain, so that all of them together ask a few questions a second.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from secrets import SystemRandom

import structlog

from bot.alerts import domains
from bot.alerts.rendering import write_note
from shared.api.models import Inbox
from shared.domain.dns_facts import in_dns
from shared.domain.wall_clock import moment
from shared.domain_health.lookup import Lookup, Pace, resolvers_of, system_resolvers
from shared.domain_health.report import CheckReport, Followed, Value
from shared.settings.sections import DnsSection, Routing
from shared.store import Store
from shared.store.domains import DueDomain, News
from shared.store.jobs import Job
from shared.store.messages import PlannedPost
from shared.store.post_kinds import DNS

RECHECK = timedelta(minutes=30)
"""The time between two looks at what is newly broken or unknown, so that its end is noticed soon."""
NEW_FOR = timedelta(days=1)
_NAME = re.compile(r"(?=.{4,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z0-9-]{2,63}")
_RESERVED = re.compile(r"(?:.*\.)?(?:example|test|invalid|localhost|local|example\.(?:com|net|org))")
"""Names that nobody has (RFC 2606, RFC 6762): only resolvers that the settings name are asked for them."""

_RANDOM = SystemRandom()
log = structlog.get_logger("dns")


class DomainChecks:
    """Handles jobs of the kind `domain`; several processes share them, and each domain is checked by one."""

    def __init__(
        self,
        store: Store,
        routing: Routing,
        settings: DnsSection,
        *,
        stored: Callable[[], None],
        changed: Callable[[], None],
        lookup: Lookup | None = None,
        jitter: Callable[[], float] = _RANDOM.random,
    ) -> None:
        self._store, self._routing, self._settings = store, routing, settings
        self._stored, self._changed, self._jitter = stored, changed, jitter
        self._asks_system = not settings.resolvers and lookup is None
        self._lookup = lookup or Lookup(
            resolvers_of(settings.resolvers) or system_resolvers(),
            selectors=settings.selectors,
            pace=Pace(settings.per_second),
        )
        if not self._lookup.confirms:
            log.warning(
                "DNS problems are not alerted: two resolvers must confirm them", setting="[dns] resolvers"
            )

    async def watch(self, workspace: str, inboxes: Sequence[Inbox]) -> None:
        """Note the domains that a workspace sends from, and how healthy they are. Raises `RecordsUnavailable`."""
        scores: dict[str, list[float]] = {}
        for inbox in inboxes:
            if (name := self._name(inbox.domain)) and inbox.domain:
                own = scores.setdefault(name, [])
                own += [] if inbox.health_score is None else [inbox.health_score]
        await self._store.domains.watch(
            workspace, {name: min(found, default=None) for name, found in scores.items()}
        )

    def _name(self, domain: str) -> str:
        """The domain as DNS writes it; empty where it is none that may be asked for."""
        name = in_dns(domain.rstrip("."))
        is_asked = _NAME.fullmatch(name) and not (self._asks_system and _RESERVED.fullmatch(name))
        return name if is_asked else ""

    async def check(self, job: Job, _deadline: float) -> None:
        """Check a domain that is due. Raises `RecordsUnavailable`."""
        due = await self._store.domains.due(job)
        now = self._store.database.clock()
        followed = await self._lookup.look(due.domain, due.report, moment(now))
        every = self._settings.every or timedelta(hours=6)
        if any(_may_end_soon(one, moment(now)) for one in followed.report.checks):
            every = min(every, RECHECK)  # whoever repairs a record waits for the answer
        news = self._news(due, followed, now) if followed.changes else None
        after = every.total_seconds() * (0.9 + 0.2 * self._jitter())  # not with all others at once
        # Nothing is written where the lease has expired: another process looks again, and tells it once.
        if not await self._store.domains.finish(due, followed, after=after, news=news):
            log.warning("a check took longer than its lease", domain=due.domain)
        elif followed.changes:
            log.info("DNS changed", domain=due.domain, checks=[str(one.check) for one in followed.changes])
            self._stored()
            self._changed()

    def _news(self, due: DueDomain, followed: Followed, now: float) -> News:
        report, changes = followed.report, followed.changes
        since = min((one.before.since for one in changes if one.before.since), default=moment(now))
        card = domains.dns_update(due.domain, changes, report, after=moment(now) - since)
        return News(
            body=domains.dns_body(due.domain, changes, now),
            standing=json.dumps(domains.problems_state(report.problems), sort_keys=True),
            note=PlannedPost(
                dedupe=f"dns:{due.domain}:{now:.0f}",
                channel="",
                kind=DNS,
                urgency=2,
                note=write_note(card),
                condensed=True,
            ),
            recovered=not report.problems,
            held_until=lambda channel: self._routing.channel_policy(channel).quiet_until(now),
        )


def _may_end_soon(one: CheckReport, now: datetime) -> bool:
    return one.value is not Value.GOOD and one.certain is not None and now - (one.since or now) < NEW_FOR
