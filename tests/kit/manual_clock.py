"""A store whose clock the test holds, and what is done with it, for the tests of what alerts say over time."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from bot.commands.context import CommandContexts
from bot.delivery import Routes
from bot.jobs.due import Reminders
from bot.slack.directory import UserDirectory
from shared.records import Actor
from shared.settings.sections import AlertPolicy, Routing
from shared.store import Store
from shared.store.deliveries import Arrival
from shared.store.jobs import wake_all
from shared.store.messages import Post, Sent
from tests.kit.due import claim_turns, core_of, next_in, plain_settings

ANN = Actor(name="ann", id="U1", face="slack")
CHANNEL = "C1"
MINUTE, HOUR = 60.0, 3600.0


class ManualClock:
    """A clock that moves when it is told to; it begins at nine in the morning, UTC."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 20, 9, tzinfo=UTC).timestamp()

    def __call__(self) -> float:
        return self.now


def routes(**routing: object) -> Routes:
    return Routes(
        alert_channels={"default": CHANNEL},
        routing=Routing().model_copy(update=routing),
    )


async def append(store: Store, *bodies: bytes) -> None:
    """Store deliveries as one batch."""
    at = store.database.clock()
    batch = [Arrival(workspace="default", body=body, at=at + n / 1e6) for n, body in enumerate(bodies)]
    await store.arrivals.append(batch)


async def arrive(store: Store, *bodies: bytes, by: Routes | None = None) -> None:
    """Store deliveries as one batch, and route them."""
    await append(store, *bodies)
    await store.deliveries.route((by or routes()).decide)


async def post_all(store: Store, clock: ManualClock) -> list[Post]:
    """Have everything posted that is due, and return it."""
    posted: list[Post] = []
    for _ in range(400):
        turns = await claim_turns(store)
        for turn in turns:
            await store.posting.settle(turn, Sent(ts=f"{clock.now}{len(posted)}"))
            posted += turn.posts
            clock.now += 1.0
        waits = await next_in(store, "post")
        if not turns and waits is None:
            return posted
        clock.now += waits or 0.0
    raise AssertionError("it never ends")


NO_REMINDERS = AlertPolicy(remind_after=None, escalate_after=None, unfinished_after=None)


def reminders_of(
    store: Store, *, rules: AlertPolicy | None, routing: Routing | None, people: UserDirectory | None
) -> Reminders:
    """What reminds, in a bot with these settings."""
    given = {"alerts": rules or AlertPolicy(), "routes": routing or Routing(mention="S0SALES")}
    settings = plain_settings().model_copy(update=given)
    core = core_of(CommandContexts(settings=settings, store=store, clients={}))
    core.routes = replace(core.routes, people=people)
    return Reminders(core)


async def look(
    store: Store,
    *,
    rules: AlertPolicy | None = None,
    routing: Routing | None = None,
    people: UserDirectory | None = None,
) -> None:
    """Have each open alert and all held posts looked at, as a bot with these settings would."""
    reminders = reminders_of(store, rules=rules, routing=routing, people=people)
    await store.database.write(lambda tx: wake_all(tx, "remind"))
    await reminders(await store.jobs.claim("remind", lease=10.0, limit=10_000, workspaces=[]))
    while held := await store.jobs.claim("release", lease=10.0, limit=100, workspaces=[]):
        for job in held:
            await store.outbox.release(job)


async def sweep(
    store: Store, clock: ManualClock, *, rules: AlertPolicy | None = None, routing: Routing | None = None
) -> list[Post]:
    """What a look at what waits has posted."""
    await look(store, rules=rules, routing=routing)
    return await post_all(store, clock)
