"""Does what is due, as a bot would, for tests that hold the clock."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import cast

from bot.commands.context import CommandContexts
from bot.core import Core
from bot.runtime import Supervisor, Wakeup
from bot.slack.web_api import WebApi
from bot.worker import Kind, Worker
from shared.settings import Settings, load
from shared.store import Store
from shared.store.domains import DueDomain
from shared.store.jobs import Job
from shared.store.jobs import Kind as JobKind
from shared.store.messages import FARTHEST_LOOKUP, LONGEST_TRIAL, ChannelLease, Lookup, Post
from tests.kit.scripted import BASE

WORKSPACES = ("default", "acme", "beta", "work", "w")
"""Those of the tests."""


@cache
def plain_settings() -> Settings:
    """Settings in which nothing is set but what must be."""
    return load(environ={"OUTREACH_BASE_URL": BASE, "OUTREACH_API_KEY": "key"})


def core_of(contexts: CommandContexts) -> Core:
    """The parts of a bot without a Slack."""
    return Core(contexts, cast("WebApi", None), Supervisor())


async def settle(worker: Worker) -> None:
    """Wait for what is under way."""
    while running := worker.running:
        await asyncio.wait(running)


async def do_due(store: Store, *kinds: Kind) -> None:
    """Have all that is due of these kinds done, and wait for it."""
    worker = Worker(store, kinds, workspaces=WORKSPACES, wakeup=Wakeup())
    names = {kind.name for kind in kinds}
    while any(wait <= 0.0 for wait in (await store.jobs.waits(names, WORKSPACES)).values()):
        await worker.round()
        await settle(worker)


async def due_domain(store: Store) -> DueDomain | None:
    """The domain that is to be checked next, claimed; None: none is, or another is being checked."""
    jobs = await store.jobs.claim("domain", lease=60.0, limit=1, workspaces=WORKSPACES)
    return await store.domains.due(jobs[0]) if jobs else None


async def claim_paints(store: Store, *, limit: int = 10) -> list[Job]:
    """The jobs of the messages that are to be updated now, as far as Slack takes updates."""
    return [*await store.jobs.claim("paint", lease=10.0, limit=limit, workspaces=())]


async def claim_repaints(store: Store, *, limit: int = 10) -> list[tuple[Post, ...]]:
    """The same messages, updated as they are to be drawn."""
    painted = []
    for job in await claim_paints(store, limit=limit):
        painted.append(await store.repaints.message(job))
        await store.repaints.done(job, painted[-1])
    return painted


async def claim_turns(store: Store, *, limit: int = 16) -> list[ChannelLease]:
    """What is to be posted now, one message for each channel that may have one."""
    lease = store.posting.timings.lease
    claimed = await store.jobs.claim("post", lease=lease, limit=limit, workspaces=())
    turns = [await store.posting.turn(job) for job in claimed]
    return [turn for turn in turns if turn]


async def claim_lookups(store: Store, *, limit: int = 5) -> list[Lookup]:
    """The places that are to be read now."""
    lease = store.posting.timings.lease
    claimed = await store.jobs.claim("lookup", lease=lease, limit=limit, workspaces=())
    places = [await store.posting.place(job) for job in claimed]
    return [place for place in places if place]


async def next_in(store: Store, kind: JobKind) -> float | None:
    """After how many seconds something of a kind is due; None: nothing is."""
    wait = (await store.jobs.waits([kind], WORKSPACES)).get(kind)
    return None if wait is None else max(0.0, wait)


async def sweep_jobs(store: Store) -> None:
    """Look for what no clock can have meant, as a bot does each minute."""
    lease = store.posting.timings.lease
    await store.jobs.sweep({"post": (lease, LONGEST_TRIAL), "lookup": (lease, FARTHEST_LOOKUP)})
