"""Registers all scheduled jobs, and the histories that some of them read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Hashable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

import structlog

from bot.alerts.links import links_of
from bot.alerts.reminders import Reminders
from bot.alerts.routing import Routes
from bot.commands.context import CommandContexts
from bot.delivery.outbox import MAX_CHANNELS, MAX_LOOKUPS, MAX_PAINTS, Outbox
from bot.guardrails import samples
from bot.guardrails.samples import GuardrailSampler
from bot.guardrails.watch import GuardrailWatch
from bot.jobs import (
    history_sampler,
    reconcile,
)
from bot.jobs.auto_resume import AutoResume, told_together
from bot.jobs.digests import Digests
from bot.jobs.domain_checks import DomainChecks
from bot.jobs.history_sampler import HistorySampler
from bot.jobs.late_requests import LateRequests
from bot.jobs.reconcile import Reconciler
from bot.jobs.scheduler import JobScheduler
from bot.runtime.wakeup import DeliverySignals
from bot.slack.directory import ROTA_SECONDS, RotaPeople
from bot.worker import Kind
from shared.domain.wall_clock import DAY
from shared.history import History
from shared.settings import Settings
from shared.store import Store, posting
from shared.store.jobs import (
    ACT,
    DIGEST,
    DOMAIN,
    EVALUATE,
    LATE,
    LOOKUP,
    PAINT,
    POST,
    RELEASE,
    REMIND,
    RESUME,
    End,
    Job,
)
from shared.store.messages import LONGEST_SECONDS
from shared.store.posting import LONGEST_TRIAL
from shared.store.slack_limits import POSTS, UPDATES

RESUMED_TOGETHER = 300
"""Pauses whose ends one message may tell of."""
LOOKED_AT_TOGETHER = 100
REMINDED_TOGETHER = 200
"""Alerts that one transaction looks at; more than five reminders of a channel are one message."""
EVALUATED_TOGETHER = 1_000
REVIVE_SECONDS = 60.0
PRUNE_SECONDS = 3600.0
MOST_PORTIONS = 1000

log = structlog.get_logger("jobs")


def kinds(
    store: Store,
    contexts: CommandContexts,
    *,
    planned: Callable[[], None],
    routes: Routes,
    guard: GuardrailWatch,
    checks: DomainChecks | None = None,
) -> Sequence[Kind]:
    """What is done when it is due, with its handler."""
    settings = contexts.settings
    resuming = AutoResume(store, contexts, planned=planned)
    reminding = Reminders(store, settings.alerts, routes, planned=planned, links=links_of(settings))

    async def release(claimed: Sequence[Job], _deadline: float) -> Mapping[Job, End]:
        """Post what was held until the end of the quiet hours."""
        for job in claimed:
            if await store.outbox.release(job):
                planned()
        return {}

    return (
        Kind(name=RESUME, handle=resuming, group=told_together, batch=RESUMED_TOGETHER, renewed=True),
        Kind(name=LATE, handle=LateRequests(store, contexts), batch=LOOKED_AT_TOGETHER, renewed=True),
        Kind(name=REMIND, handle=reminding, batch=REMINDED_TOGETHER, parallel=1),
        Kind(name=RELEASE, handle=release),
        Kind(name=DIGEST, handle=Digests(store, contexts, planned=planned), renewed=True),
        Kind(
            name=EVALUATE, handle=guard, group=_together, batch=EVALUATED_TOGETHER, parallel=1, renewed=True
        ),
        Kind(name=ACT, handle=guard.acts, renewed=True),
        *((Kind(name=DOMAIN, handle=checks, alone=True, renewed=True),) if checks else ()),
    )


def slack_kinds(store: Store, slack: Outbox) -> Sequence[Kind]:
    """What Slack is asked for, each beside the others: no alert waits for an update or a look-up."""
    lease = store.posting.timings.lease
    post = Kind(name=POST, handle=slack.post, group=_each, parallel=MAX_CHANNELS, lease=lease)
    look = Kind(name=LOOKUP, handle=slack.look_up, group=_each, parallel=MAX_LOOKUPS, lease=lease)
    paint = Kind(name=PAINT, handle=slack.paint, group=_each, parallel=MAX_PAINTS)
    return (
        replace(post, farthest=LONGEST_TRIAL, pace=POSTS),
        replace(look, farthest=posting.FARTHEST_LOOKUP),
        replace(paint, farthest=LONGEST_SECONDS, pace=UPDATES),
    )


def _each(job: Job) -> Hashable:
    return job.id


def _together(_job: Job) -> Hashable:
    """One reading of what happened serves all workspaces."""
    return None


def add_jobs(
    scheduler: JobScheduler,
    store: Store,
    contexts: CommandContexts,
    *,
    histories: Mapping[str, History],
    signals: DeliverySignals,
    people: RotaPeople,
    guard: GuardrailWatch,
    checks: DomainChecks | None,
) -> None:
    """Schedule what ticks."""
    settings = contexts.settings
    if settings.routes.rotas:
        scheduler.every(ROTA_SECONDS, people.refresh, name="rota people", at_once=True)
    reconciler = Reconciler(store, contexts, found=signals.stored)
    scheduler.every(reconcile.EVERY, reconciler.reconcile, name="reconcile", at_once=True)
    sampler = HistorySampler(contexts, histories)
    scheduler.every(history_sampler.EVERY, sampler.sample, name="history")
    counting = GuardrailSampler(
        store,
        contexts,
        histories,
        accounts=guard.accounts,
        watch=checks.watch if checks else None,
    )
    scheduler.every(samples.EVERY, counting.sample, name="guardrail counts", at_once=True)
    scheduler.every(REVIVE_SECONDS, store.posting.revive, name="revive")
    scheduler.every(PRUNE_SECONDS, partial(_prune, store, contexts.settings), name="retention")
    scheduler.every(PRUNE_SECONDS, store.slack_events.forget_old, name="slack_events")


def domain_checks(store: Store, settings: Settings, signals: DeliverySignals) -> DomainChecks | None:
    """The checks of the sending domains; None where the settings turn them off."""
    if not settings.dns.enabled:
        return None

    def changed() -> None:
        signals.changed()
        signals.account_changed()  # the card of a paused domain shows its DNS

    return DomainChecks(store, settings.routes, settings.dns, stored=signals.stored, changed=changed)


async def _prune(store: Store, settings: Settings) -> None:
    kept = settings.retention
    await store.guardrails.prune()
    await store.domains.prune(changes_after=kept.records_days * DAY)
    if count := await store.jobs.forget_orphans(settings.workspaces):
        log.warning("deleted timed pauses of workspaces that are no longer in the settings", count=count)
    for _portion in range(MOST_PORTIONS):
        if not await store.retention.prune(
            bodies_after=kept.texts_days * DAY, hashes_after=kept.records_days * DAY
        ):
            return
        await asyncio.sleep(0.1)  # the intake goes first


@asynccontextmanager
async def open_histories(contexts: CommandContexts) -> AsyncIterator[Mapping[str, History]]:
    """The history that the dashboard shows, by workspace: one database connection serves them all."""
    settings = contexts.settings
    thresholds = settings.workspace().thresholds  # the same for every workspace
    async with History(settings.history_database, thresholds=thresholds) as history:
        yield dict.fromkeys(settings.workspaces, history)
