"""Updates open cards after changes made elsewhere: a sequence paused in the dashboard, a domain that recovers.

The service reports neither, so the bot polls while a card is open, and at once after a change made here.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import structlog

from bot.alerts import domains
from bot.alerts.rendering import write_note
from bot.commands.context import CommandContexts
from bot.runtime import Wakeup, visit
from shared.api.errors import OutreachError
from shared.api.models import Inbox
from shared.api.models import Sequence as Campaign
from shared.commands.pause import LOOK_BACK
from shared.domain.alert import Alert
from shared.domain.card import Tone
from shared.domain.dns_facts import dns_fact, in_dns, problems_of
from shared.domain.wall_clock import DAY, moment
from shared.domain_health.report import DomainReport
from shared.guardrails.rule import subject_key
from shared.records.records import RecordsUnavailable
from shared.store import Store
from shared.store.alerts import CARDS_AT_ONCE, NAME_LETTERS
from shared.store.messages import INCIDENT, PlannedPost

EVERY = 10.0
"""Seconds between two checks."""
LEAST = 0.2
"""Seconds between two requested checks."""
WEEK_SECONDS = 7 * DAY
PAUSED_STATE = json.dumps({"sequence": "paused"})
"""The state that is stored with a reply whose sequence is paused; while it runs, that is empty."""

log = structlog.get_logger("card_refresh")


class CardRefresher:
    """`run` until cancelled; `soon` is set after a change made here."""

    def __init__(
        self, store: Store, contexts: CommandContexts, *, soon: Wakeup, planned: Callable[[], None]
    ) -> None:
        self._store, self._contexts = store, contexts
        self._soon, self._planned = soon, planned
        self._active: dict[str, Mapping[str, int]] = {}
        """The sequences that the last look saw active though they were paused here, with their revisions."""

    async def run(self) -> None:
        """Compare the open cards with the service regularly."""
        while True:
            try:
                await visit(self._contexts.clients.keys(), self._try)
            except RecordsUnavailable as error:
                log.warning("cards not refreshed", error=type(error).__name__)
            await asyncio.sleep(LEAST)
            await self._soon.wait(EVERY - LEAST)

    async def _try(self, workspace: str) -> None:
        try:
            await self.refresh(workspace)
        except (OutreachError, RecordsUnavailable) as error:
            log.warning("cards not refreshed", workspace=workspace, error=type(error).__name__)

    async def refresh(self, workspace: str) -> None:
        """Compare the open cards of a workspace with the service. Raises `OutreachError`, `RecordsUnavailable`."""
        client, alerts = self._contexts.clients[workspace], self._store.alerts
        sequences, paused_domains = await alerts.sequences(workspace), await alerts.paused_domains(workspace)
        # Before the list: what is changed after this isn't trusted to be as the list says.
        at, held = self._store.database.clock(), await self._store.changes.paused(workspace)
        if not (sequences or paused_domains or held):
            return
        listed = await client.list_sequences()
        changed, paused = int(await self._note_resumed(workspace, held, listed, at=at)), _paused_names(listed)
        for sequence, states in sequences.items():
            state = PAUSED_STATE if sequence.casefold() in paused else ""
            if {*states} != {state}:
                changed += await self._turn(workspace, sequence, state=state)
        inboxes = await client.list_inboxes() if paused_domains else ()
        for alert in paused_domains:
            changed += await self._refresh_domain(workspace, alert, inboxes, paused=paused)
        if changed:
            self._planned()

    async def _note_resumed(
        self, workspace: str, held: Mapping[str, int], listed: Sequence[Campaign], *, at: float
    ) -> bool:
        """Take note of what someone resumed at the service; one list may be wrong, so two must say it."""
        before, labels = self._active.get(workspace, {}), {one.id: one.label for one in listed}
        active = {one.id: held[one.id] for one in listed if one.id in held and one.status == "active"}
        self._active[workspace] = active
        twice = {name: revision for name, revision in active.items() if before.get(name) == revision}
        return bool(twice) and await self._store.changes.note_resumed(workspace, twice, labels, at=at)

    async def _turn(self, workspace: str, sequence: str, *, state: str) -> int:
        """Turn the cards that show another state, in portions, however many there are."""
        turned, count = 0, CARDS_AT_ONCE
        while count == CARDS_AT_ONCE:
            count = await self._store.alerts.turn(workspace, sequence, state=state)
            turned += count
        return turned

    async def _refresh_domain(
        self, workspace: str, alert: Alert, inboxes: Sequence[Inbox], *, paused: Collection[str]
    ) -> bool:
        """Store how a paused domain stands, where that has changed."""
        at, records = self._store.database.clock(), self._store.records
        counts = await records.domain_counts(workspace, alert.domain, alert.received_at - WEEK_SECONDS)
        # The same as a pause of the domain looks at, so that button and question name one number.
        names = await records.domain_sequences(workspace, alert.domain, moment(at) - LOOK_BACK)
        before = json.loads(alert.standing or "{}")
        if not before:
            await self._store.alerts.take_dns(workspace, alert.domain)
        state = {
            **domains.domain_state(
                [inbox for inbox in inboxes if inbox.domain == alert.domain],
                before=before,
                thresholds=self._contexts.settings.workspace(workspace).thresholds,
            ),
            "counts": dict(counts),
            "sequences": list(names),
            "active": [name for name in names if name.casefold() not in paused],
            **await self._guardrails_state(workspace, alert.domain),
            **await self._dns_state(alert, at=at),
        }
        stage, standing = state["stage"], json.dumps(state, sort_keys=True)
        # While its DNS is broken the card stays open, so that it says when that is over.
        recovered = stage == domains.RECOVERED and not domains.problems_in(state)
        if standing == alert.standing and not recovered:
            return False
        note = None
        if stage and stage != before.get("stage"):
            note = PlannedPost(
                dedupe=f"{alert.id}:{stage}",
                channel="",
                kind="recovered",
                urgency=INCIDENT,
                note=write_note(domains.recovery_card(alert, state, at=at)),
                condensed=True,
            )
        return await self._store.alerts.update(alert.id, standing, note=note, recovered=recovered)

    async def _guardrails_state(self, workspace: str, domain: str) -> Mapping[str, Any]:
        """The findings of guardrails that still hold against a domain; empty where there are none."""
        held = [
            [one.rule, one.note]
            for one in await self._store.incidents.open(workspace)
            if one.domain == subject_key(domain)
        ]
        return {"guardrails": held} if held else {}

    async def _dns_state(self, alert: Alert, *, at: float) -> Mapping[str, Any]:
        """The state of the domain's DNS for its card, without what changes at every look; empty where it isn't checked.

        That it is good is known only from a check after the pause, which is made at once.
        """
        if not self._contexts.settings.dns.enabled:
            return {}
        name, now = in_dns(alert.domain), moment(at)
        report: DomainReport | None = (await self._store.domains.reports({name})).get(name)
        if problems := problems_of(report, now=now):
            return domains.problems_state([replace(one, checked_at=None, last_good=None) for one in problems])
        good = dns_fact(report, now=now).tone is Tone.GOOD
        checked = report is not None and report.checked_at is not None and report.checked_at >= alert.received
        return {"dns": "good" if good and checked else "unknown"}


def _paused_names(sequences: Sequence[Campaign]) -> Collection[str]:
    """The names and ids, in small letters, of which every sequence is paused."""
    all_paused: dict[str, bool] = {}
    for sequence in sequences:
        for name in {sequence.id.casefold(), (sequence.name or "")[:NAME_LETTERS].casefold()}:
            all_paused[name] = all_paused.get(name, True) and sequence.status == "paused"
    return {name for name, paused in all_paused.items() if paused}
