"""The jobs of the store, by kind: how each is done when it is due, and by whom."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

from bot.alerts.links import links_of
from bot.alerts.reminders import Reminders
from bot.alerts.routing import Routes
from bot.commands.context import CommandContexts
from bot.delivery.outbox import MAX_CHANNELS, MAX_LOOKUPS, MAX_PAINTS, Outbox
from bot.guardrails.watch import GuardrailWatch
from bot.jobs.auto_resume import AutoResume, told_together
from bot.jobs.digests import Digests
from bot.jobs.domain_checks import DomainChecks
from bot.jobs.late_requests import LateRequests
from bot.worker import Kind
from shared.store import Store, jobs
from shared.store.jobs import End, Job
from shared.store.messages import LONGEST_SECONDS
from shared.store.posting import FARTHEST_LOOKUP, LONGEST_TRIAL
from shared.store.slack_limits import POSTS, UPDATES

RESUMED_TOGETHER = 300
"""Pauses whose ends one message may tell of."""
LOOKED_AT_TOGETHER = 100
REMINDED_TOGETHER = 200
"""Alerts that one transaction looks at; more than five reminders of a channel are one message."""
EVALUATED_TOGETHER = 1_000


def kinds(
    store: Store,
    contexts: CommandContexts,
    *,
    planned: Callable[[], None],
    routes: Routes,
    guard: GuardrailWatch,
    checks: DomainChecks | None = None,
    outbox: Outbox | None = None,
) -> Sequence[Kind]:
    """All kinds of jobs; without an `outbox` nothing is posted."""
    settings, lease = contexts.settings, store.posting.timings.lease
    reminders = Reminders(store, settings.alerts, routes, planned=planned, links=links_of(settings))
    resuming, digests = (
        AutoResume(store, contexts, planned=planned),
        Digests(store, contexts, planned=planned),
    )

    async def release(claimed: Sequence[Job], _deadline: float) -> Mapping[Job, End]:
        """Post what was held until the end of the quiet hours."""
        for job in claimed:
            if await store.outbox.release(job):
                planned()
        return {}

    found = [
        Kind(name=jobs.RESUME, handle=resuming, group=told_together, batch=RESUMED_TOGETHER, renewed=True),
        Kind(name=jobs.LATE, handle=LateRequests(store, contexts), batch=LOOKED_AT_TOGETHER, renewed=True),
        Kind(name=jobs.REMIND, handle=reminders, batch=REMINDED_TOGETHER, parallel=1),
        Kind(name=jobs.RELEASE, handle=release),
        Kind(name=jobs.DIGEST, handle=digests, renewed=True),
        Kind(
            name=jobs.EVALUATE,
            handle=guard,
            group=_together,
            batch=EVALUATED_TOGETHER,
            parallel=1,
            renewed=True,
        ),
        Kind(name=jobs.ACT, handle=guard.acts, renewed=True),
    ]
    if checks:
        found.append(Kind(name=jobs.DOMAIN, handle=checks, alone=True, renewed=True))
    if outbox:  # each beside the others: no alert waits for an update or a look-up
        found += [
            Kind(
                name=jobs.POST,
                handle=outbox.post,
                group=_each,
                parallel=MAX_CHANNELS,
                lease=lease,
                farthest=LONGEST_TRIAL,
                pace=POSTS,
            ),
            Kind(
                name=jobs.LOOKUP,
                handle=outbox.look_up,
                group=_each,
                parallel=MAX_LOOKUPS,
                lease=lease,
                farthest=FARTHEST_LOOKUP,
            ),
            Kind(
                name=jobs.PAINT,
                handle=outbox.paint,
                group=_each,
                parallel=MAX_PAINTS,
                farthest=LONGEST_SECONDS,
                pace=UPDATES,
            ),
        ]
    return found


def _each(job: Job) -> Hashable:
    return job.id


def _together(_job: Job) -> Hashable:
    """One reading of what happened serves all workspaces."""
    return None
