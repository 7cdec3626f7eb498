"""Updates open cards after changes made elsewhere: a sequence paused in the dashboard, a domain that recovers.

The service reports neither, so the bot polls while a card is open, and at once after a change made here.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import structlog

from bot.alerts import paused_domain, recovery
from bot.commands.context import CommandContexts
from bot.runtime.pacing import visit
from bot.runtime.wakeup import Wakeup
from shared.api.errors import OutreachError
from shared.api.models import Inbox
from shared.api.models import Sequence as Campaign
from shared.commands.pause import LOOK_BACK
from shared.domain.card import Tone
from shared.domain.dns_facts import dns_fact, in_dns, problems_of
from shared.domain.wall_clock import DAY, moment
from shared.domain_health.encoding import encode_report
from shared.domain_health.report import DomainReport
from shared.guardrails.rule import subject_key
from shared.records.guardrails import Incident
from shared.records.records import RecordsUnavailable
from shared.store import Store
from shared.store.alerts import CARDS_AT_ONCE, NAME_LETTERS, ShownSequence
from shared.store.messages import PlannedPost
from shared.store.rows import AlertRow

EVERY = 10.0
"""Seconds between two checks."""
LEAST = 0.2
"""Seconds between two requested checks."""
WEEK = 7 * DAY
PAUSED_STATE = json.dumps({"sequence": "paused"})
"""What is stored with a reply whose sequence is paused; nothing while it runs."""

log = structlog.get_logger("card_refresh")


class CardRefresher:
    """`run` until cancelled; `soon` is set after a change made here."""

    def __init__(
        self,
        store: Store,
        contexts: CommandContexts,
        *,
        soon: Wakeup,
        planned: Callable[[], None],
    ) -> None:
        self._store, self._contexts = store, contexts
        self._soon, self._planned = soon, planned

    async def run(self) -> None:
        """Compare the open cards with the service regularly."""
        while True:
            await self._refresh_all()
            await asyncio.sleep(LEAST)
            await self._soon.wait(EVERY - LEAST)

    async def _refresh_all(self) -> None:
        try:
            watched = await self._store.alerts.with_subjects()
        except RecordsUnavailable as error:
            log.warning("cards not refreshed", error=type(error).__name__)
            return
        await visit(set(watched) & self._contexts.clients.keys(), self._try)

    async def _try(self, workspace: str) -> None:
        try:
            await self.refresh(workspace)
        except (OutreachError, RecordsUnavailable) as error:
            log.warning("cards not refreshed", workspace=workspace, error=type(error).__name__)

    async def refresh(self, workspace: str) -> None:
        """Compare the open cards of a workspace with the service. Raises `OutreachError`, `RecordsUnavailable`."""
        client = self._contexts.clients[workspace]
        changed = False
        shown = await self._store.alerts.sequences(workspace)
        domains = await self._store.alerts.paused_domains(workspace)
        paused = paused_names(await client.list_sequences()) if shown or domains else ()
        for sequence in shown:
            state = PAUSED_STATE if is_paused(sequence, paused) else ""
            changed |= await self._turn(workspace, sequence, state=state)
        if domains:
            inboxes = await client.list_inboxes()
            reports = await self._reports(domains)
            guards = [one for one in await self._store.incidents.open() if one.workspace == workspace]
            for one in domains:
                dns = reports.get(in_dns(one.domain)) if reports is not None else None
                changed |= await self._refresh_domain(workspace, one, inboxes, guards, paused=paused, dns=dns)
        if changed:
            self._planned()

    async def _reports(self, domains: Sequence[AlertRow]) -> Mapping[str, DomainReport] | None:
        """How the DNS of these domains stands; None where it isn't checked."""
        if not self._contexts.settings.dns.enabled:
            return None
        return await self._store.domains.reports({in_dns(one.domain) for one in domains})

    async def _refresh_domain(
        self,
        workspace: str,
        one: AlertRow,
        inboxes: Sequence[Inbox],
        guards: Sequence[Incident],
        *,
        paused: Collection[str],
        dns: DomainReport | None,
    ) -> bool:
        at = self._store.database.clock()
        counts = await self._store.records.domain_counts(workspace, one.domain, one.received_at - WEEK)
        # The same as a pause of the domain looks at, so that button and question name one number.
        names = await self._store.records.domain_sequences(workspace, one.domain, moment(at) - LOOK_BACK)
        before = json.loads(one.standing or "{}")
        if not before:
            await self._store.alerts.take_dns(workspace, one.domain)
        state = {
            **recovery.domain_state(
                [inbox for inbox in inboxes if inbox.domain == one.domain],
                before=before,
                thresholds=self._contexts.settings.workspace(workspace).thresholds,
            ),
            "counts": dict(counts),
            "sequences": list(names),
            "active": [name for name in names if name.casefold() not in paused],
            **_guardrails_state(guards, one.domain),
            **self._dns_state(dns, since=one.received, now=moment(at)),
        }
        stage = state["stage"]
        note = recovery.note(one, state, at=at) if stage and stage != before.get("stage") else None
        # While its DNS is broken the card stays open, so that it says when that is over.
        recovered = stage == paused_domain.RECOVERED and not paused_domain.problems_in(state)
        return await self._update(one, _json(state), note=note, recovered=recovered)

    def _dns_state(self, report: DomainReport | None, *, since: datetime, now: datetime) -> Mapping[str, Any]:
        """What the card says of the domain's DNS, without what changes at every look; nothing where it isn't checked.

        That it is good is known only from a check after the pause, which is made at once.
        """
        if not self._contexts.settings.dns.enabled:
            return {}
        problems = tuple(
            replace(one, checked_at=None, last_good=None) for one in problems_of(report, now=now)
        )
        if problems:
            return {"dns": json.loads(encode_report(DomainReport(domain="", checks=problems)))}
        good = dns_fact(report, now=now).tone is Tone.GOOD
        checked = report is not None and report.checked_at is not None and report.checked_at >= since
        return {"dns": "good" if good and checked else "unknown"}

    async def _turn(self, workspace: str, one: ShownSequence, *, state: str) -> bool:
        """Turn the cards that show another state, however many there are; usually there are none."""
        turned = 0
        for shown in sorted(one.states - {state}):
            count = CARDS_AT_ONCE
            while count == CARDS_AT_ONCE:
                count = await self._store.alerts.turn(workspace, one.name, shown=shown, state=state)
                turned += count
        return turned > 0

    async def _update(
        self, one: AlertRow, standing: str, *, note: PlannedPost | None = None, recovered: bool = False
    ) -> bool:
        """Store what is new: of hundreds of open cards, hardly one changes between two checks."""
        if standing == one.standing and not recovered:
            return False
        return await self._store.alerts.update(one.id, standing, note=note, recovered=recovered)


def paused_names(sequences: Sequence[Campaign]) -> Collection[str]:
    """The names and ids, in small letters, of which every sequence is paused."""
    all_paused: dict[str, bool] = {}
    for one in sequences:
        for name in {one.id.casefold(), (one.name or "")[:NAME_LETTERS].casefold()}:
            all_paused[name] = all_paused.get(name, True) and one.status == "paused"
    return {name for name, paused in all_paused.items() if paused}


def is_paused(shown: ShownSequence, paused: Collection[str]) -> bool:
    return shown.name.casefold() in paused


def _guardrails_state(guards: Sequence[Incident], domain: str) -> Mapping[str, Any]:
    """What guardrails found on a domain, and still hold against it; nothing where none does."""
    found = [[one.rule, one.note] for one in guards if one.domain == subject_key(domain)]
    return {"guardrails": found} if found else {}


def _json(standing: Mapping[str, Any]) -> str:
    return json.dumps(standing, sort_keys=True)
