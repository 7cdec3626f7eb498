"""Does what is due, as a bot would, for tests that hold the clock."""

from __future__ import annotations

from bot.jobs.guardrails import GuardrailWatch
from bot.runtime.wakeup import Wakeup
from bot.worker import Kind, Worker
from shared.store import Store
from shared.store.jobs import ACT, DOMAIN, EVALUATE, PAINT, Job, wake_all
from shared.store.queue.posts import Post
from shared.store.queue.repaints import Updates
from shared.store.records.domains import DueDomain

WORKSPACES = ("default", "acme", "beta", "work", "w")
"""Those of the tests."""


async def do_due(store: Store, *kinds: Kind) -> None:
    """Have all that is due of these kinds done, and wait for it."""
    worker = Worker(store, kinds, workspaces=WORKSPACES, wakeup=Wakeup())
    names = {kind.name for kind in kinds}
    while any(wait <= 0.0 for wait in (await store.jobs.waits(names, WORKSPACES)).values()):
        await worker.round()
        await worker.settle()


async def evaluate(watch: GuardrailWatch) -> None:
    """Have the guardrails evaluated now, and what they decide carried out."""
    store = watch.acts.store
    await store.jobs.keep_going(EVALUATE, ["default"])
    await store.database.write(lambda tx: wake_all(tx, EVALUATE))
    await do_due(
        store,
        Kind(name=EVALUATE, handle=watch, renewed=True),
        Kind(name=ACT, handle=watch.acts, renewed=True),
    )


async def due_domain(store: Store) -> DueDomain | None:
    """The domain that is to be checked next, claimed; None: none is, or another is being checked."""
    jobs = await store.jobs.claim(DOMAIN, lease=60.0, limit=1, workspaces=WORKSPACES, alone=True)
    return await store.domains.due(jobs[0]) if jobs else None


async def claim_paints(store: Store, *, limit: int = 10) -> list[Job]:
    """The jobs of the messages that are to be updated now, as far as Slack takes updates."""
    return [*await store.jobs.claim(PAINT, lease=10.0, limit=limit, workspaces=(), room=Updates())]


async def claim_repaints(store: Store, *, limit: int = 10) -> list[tuple[Post, ...]]:
    """The same messages, updated as they are to be drawn."""
    painted = []
    for job in await claim_paints(store, limit=limit):
        painted.append(await store.repaints.message(job))
        await store.repaints.done(job, painted[-1])
    return painted
