"""Updates open cards after changes made elsewhere, and checks the DNS of the sending domains.

The service tells of no change, so the bot polls while a card is open, and at once after a change made here.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import structlog

from bot.cards import (
    RECOVERED,
    DnsEvent,
    Standing,
    dns_update,
    recovery_card,
    report_of,
    seen,
    standing_of,
    write_note,
)
from bot.core import Core
from bot.runtime import visit
from shared.api.models import Inbox
from shared.api.models import Sequence as Campaign
from shared.commands.pause import LOOK_BACK
from shared.domain.alert import Alert
from shared.domain.card import Tone
from shared.domain.dns_facts import dns_fact, in_dns, problems_of
from shared.domain.wall_clock import DAY, moment
from shared.domain_health.lookup import Lookup, Pace, resolvers_of, system_resolvers
from shared.domain_health.report import CheckReport, DomainReport, Followed, encode
from shared.guardrails.rule import subject_key
from shared.store.alerts import NAME_LETTERS
from shared.store.domains import DueDomain, News
from shared.store.jobs import Job
from shared.store.messages import INCIDENT, PlannedPost
from shared.store.post_kinds import DNS

EVERY = 10.0
"""Seconds between two checks."""
LEAST = 0.2
"""Seconds between two requested checks."""
WEEK_SECONDS = 7 * DAY

log = structlog.get_logger("standings")


class CardRefresher:
    """`run` until cancelled; it looks at once after a change made here."""

    def __init__(self, core: Core) -> None:
        self._store, self._contexts, self._signals = core.store, core.contexts, core.signals
        self._active: dict[str, Mapping[str, int]] = {}
        """The sequences that the last look saw active though they were paused here, with their revisions."""

    async def run(self) -> None:
        """Compare the open cards with the service regularly. Raises `RecordsUnavailable`."""
        while True:
            await visit(self._contexts.clients, self._refresh, failed="cards not refreshed")
            await asyncio.sleep(LEAST)
            await self._signals.account.wait(EVERY - LEAST)

    async def _refresh(self, workspace: str) -> None:
        """Compare the open cards of a workspace with the service. Raises `OutreachError`, `RecordsUnavailable`."""
        client = self._contexts.clients[workspace]
        paused_domains = await self._store.alerts.paused_domains(workspace)
        # Before the list: what is changed after this isn't trusted to be as the list says.
        at, held = self._store.database.clock(), await self._store.changes.paused(workspace)
        if not (paused_domains or held):
            return
        listed = await client.list_sequences()
        changed, paused = int(await self._note_resumed(workspace, held, listed, at=at)), _paused_names(listed)
        inboxes = await client.list_inboxes() if paused_domains else ()
        for alert in paused_domains:
            changed += await self._refresh_domain(workspace, alert, inboxes, paused=paused)
        if changed:
            self._signals.changed()

    async def _note_resumed(
        self, workspace: str, held: Mapping[str, int], listed: Sequence[Campaign], *, at: float
    ) -> bool:
        """Take note of what someone resumed at the service; one list may be wrong, so two must say it."""
        before, labels = self._active.get(workspace, {}), {one.id: one.label for one in listed}
        active = {one.id: held[one.id] for one in listed if one.id in held and one.status == "active"}
        self._active[workspace] = active
        twice = {name: revision for name, revision in active.items() if before.get(name) == revision}
        return bool(twice) and await self._store.changes.note_resumed(workspace, twice, labels, at=at)

    async def _refresh_domain(
        self, workspace: str, alert: Alert, inboxes: Sequence[Inbox], *, paused: Collection[str]
    ) -> bool:
        """Store how a paused domain stands, where that has changed."""
        at = self._store.database.clock()
        counts = await self._store.domain_counts(workspace, alert.domain, alert.received_at - WEEK_SECONDS)
        # The same as a pause of the domain looks at, so that button and question name one number.
        names = await self._store.domain_sequences(workspace, alert.domain, moment(at) - LOOK_BACK)
        if not alert.standing:
            await self._store.alerts.take_dns(workspace, alert.domain)
        before, own = standing_of(alert), [inbox for inbox in inboxes if inbox.domain == alert.domain]
        state = replace(
            seen(own, before=before, thresholds=self._contexts.settings.workspace(workspace).thresholds),
            counts=dict(sorted(counts.items())),
            sequences=names,
            active=[name for name in names if name.casefold() not in paused],
            guardrails=[
                (one.rule, one.note)
                for one in await self._store.incidents.open(workspace)
                if one.domain == subject_key(alert.domain)
            ],
            dns=await self._dns(alert, now=moment(at)),
        )
        standing = encode(state)
        # While its DNS is broken the card stays open, so that it says when that is over.
        recovered = state.stage == RECOVERED and not state.problems
        if standing == alert.standing and not recovered:
            return False
        note = None
        if state.stage and state.stage != before.stage:
            note = PlannedPost(
                dedupe=f"{alert.id}:{state.stage}",
                channel="",
                kind="recovered",
                urgency=INCIDENT,
                note=write_note(recovery_card(alert, state, at=at)),
                condensed=True,
            )
        return await self._store.alerts.update(alert.id, standing, note=note, recovered=recovered)

    async def _dns(self, alert: Alert, *, now: datetime) -> DomainReport | str | None:
        """The state of the domain's DNS for its card, without what changes at every look; None where it isn't checked.

        That it is good is known only from a check after the pause, which is made at once.
        """
        if not self._contexts.settings.dns.enabled:
            return None
        name = in_dns(alert.domain)
        report: DomainReport | None = (await self._store.domains.reports({name})).get(name)
        if problems := problems_of(report, now=now):
            return report_of([replace(one, checked_at=None, last_good=None) for one in problems])
        good = dns_fact(report, now=now).tone is Tone.GOOD
        checked = report is not None and report.checked_at is not None and report.checked_at >= alert.received
        return "good" if good and checked else "unknown"


def _paused_names(sequences: Sequence[Campaign]) -> Collection[str]:
    """The names and ids, in small letters, of which every sequence is paused."""
    all_paused: dict[str, bool] = {}
    for sequence in sequences:
        for name in {sequence.id.casefold(), (sequence.name or "")[:NAME_LETTERS].casefold()}:
            all_paused[name] = all_paused.get(name, True) and sequence.status == "paused"
    return {name for name, paused in all_paused.items() if paused}


# -- the DNS of the sending domains: looked at regularly, when their health falls, and when they are paused


RECHECK = timedelta(minutes=30)
"""The time between two looks at what is newly broken or unknown, so that its end is noticed soon."""
NEW_FOR = timedelta(days=1)
_NAME = re.compile(r"(?=.{4,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z0-9-]{2,63}")
_RESERVED = re.compile(r"(?:.*\.)?(?:example|test|invalid|localhost|local|example\.(?:com|net|org))")
"""Names that nobody has (RFC 2606, RFC 6762): only resolvers that the settings name are asked for them."""


class DomainChecks:
    """Handles jobs of the kind `domain`; several processes share them, and each domain is checked by one."""

    def __init__(self, core: Core) -> None:
        self._store, self._signals, self._routing = core.store, core.signals, core.settings.routes
        self._settings = settings = core.settings.dns
        self._lookup = Lookup(
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
        lowest: dict[str, float | None] = {}
        for inbox in inboxes:
            if name := self._name(inbox.domain):
                scores = [one for one in (lowest.get(name), inbox.health_score) if one is not None]
                lowest[name] = min(scores, default=None)
        await self._store.domains.watch(workspace, lowest)

    def _name(self, domain: str) -> str:
        """The domain as DNS writes it; empty where it is none that may be asked for."""
        name = in_dns(domain.rstrip("."))
        is_asked = _NAME.fullmatch(name) and (self._settings.resolvers or not _RESERVED.fullmatch(name))
        return name if is_asked else ""

    async def check(self, job: Job) -> None:
        """Check a domain that is due. Raises `RecordsUnavailable`."""
        due = await self._store.domains.due(job)
        now = self._store.database.clock()
        followed = await self._lookup.look(due.domain, due.report, moment(now))
        every = self._settings.every or timedelta(hours=6)
        if any(_may_end_soon(one, moment(now)) for one in followed.report.checks):
            every = min(every, RECHECK)  # whoever repairs a record waits for the answer
        news = self._news(due, followed, now) if followed.changes else None
        after = every.total_seconds() * random.uniform(0.9, 1.1)  # noqa: S311 # not with all others at once
        # Nothing is written where the lease has expired: another process looks again, and tells it once.
        if not await self._store.domains.finish(due, followed, after=after, news=news):
            log.warning("a check took longer than its lease", domain=due.domain)
        elif followed.changes:
            log.info("DNS changed", domain=due.domain, checks=[str(one.check) for one in followed.changes])
            self._signals.stored()
            self._signals.changed()
            self._signals.account_changed()  # the card of a paused domain shows its DNS

    def _news(self, due: DueDomain, followed: Followed, now: float) -> News:
        report, changes = followed.report, followed.changes
        since = min((one.before.since for one in changes if one.before.since), default=moment(now))
        card = dns_update(due.domain, changes, report, after=moment(now) - since)
        is_broken = any(one.after.value == "problem" for one in changes)
        event = DnsEvent(domain=due.domain, at=now, broken=is_broken, changes=changes)
        return News(
            body=encode(event).encode(),
            standing=encode(Standing(dns=report_of(report.problems))),
            note=PlannedPost(
                dedupe=f"dns:{due.domain}:{now:.0f}",
                channel="",
                kind=DNS,
                note=write_note(card),
                condensed=True,
            ),
            recovered=not report.problems,
            held_until=lambda channel: self._routing.channel_policy(channel).quiet_until(now),
        )


def _may_end_soon(one: CheckReport, now: datetime) -> bool:
    return one.value != "good" and one.certain is not None and now - (one.since or now) < NEW_FOR
