"""Any order of deliveries, crashes, lost leases and answers of Slack, against a model that knows the truth.

Accepted = sent + waiting + uncertain + dead at every step, no alert is in Slack twice, and once Slack is well
again every accepted alert is there exactly once.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)

from bot.alerts.routing import Routes
from bot.slack.messages import CLOCKS_APART
from shared.storage.database import parse_url
from shared.store import LeaseTimings, open_store
from shared.store.db.engine import Transaction
from shared.store.db.schema import deliveries, posts
from shared.store.queue.intake import Arrival
from shared.store.queue.leases import (
    ChannelLease,
    ChannelRefused,
    NotSent,
    Outcome,
    Sent,
    Unknown,
    Unpostable,
)
from shared.store.queue.lookups import Look, Lookup
from tests.bot.harness import interested
from tests.bot.migrated import migrated_file

PACE = LeaseTimings()
ROUTES = Routes(alert_channels={"default": "C1"})


REFUSALS: dict[str, Outcome] = {
    "429": NotSent(after=3.0, error="ratelimited"),
    "refused": ChannelRefused(error="is_archived"),
    "unknown": Unknown(),
    "unpostable": Unpostable(error="msg_too_long"),
}


LOOKS: dict[str, Look] = {
    "429": Look(error="ratelimited", after=60.0),
    "refused": Look(error="is_archived", hidden=True),
    "unknown": Look(error="HTTP 500"),
    "unpostable": Look(error="unexpected_answer"),
}
Turn = ChannelLease | Lookup


class Pipeline(RuleBasedStateMachine):
    """Workers take turns; what each was doing when it died or lost its lease is never known to the others."""

    turns: Bundle[Turn] = Bundle("turns")
    posted: Bundle[Turn] = Bundle("posted")

    def __init__(self) -> None:
        super().__init__()
        self.true = 1_800_000_000.0
        self.set_back = 0.0
        self.batch = 0
        self.accepted: set[int] = set()
        self.slack: dict[str, float] = {}
        self.shown: Counter[str] = Counter()
        self.started: dict[int, float] = {}
        self.seen: dict[tuple[str, str, int], Look] = {}
        self.runner, self.opened = asyncio.Runner(), AsyncExitStack()
        folder = self.opened.enter_context(TemporaryDirectory())
        address = parse_url(migrated_file(Path(folder, "bot.db")))
        opening = open_store(address, clock=lambda: self.now, timings=PACE)
        self.store = self.runner.run(self.opened.enter_async_context(opening))

    @property
    def now(self) -> float:
        """What the clock shows that all workers read; Slack knows what time it is."""
        return self.true - self.set_back

    def teardown(self) -> None:
        try:
            self.drain()
        finally:
            self.runner.run(self.opened.aclose())
            self.runner.close()

    @rule(number=st.integers(0, 12))
    def deliver(self, number: int) -> None:
        self.batch += 1
        arrival = Arrival(workspace="default", body=interested(number), at=self.now)
        self.runner.run(self.store.arrivals.append([arrival]))
        self.accepted.add(number)

    @rule()
    def route(self) -> None:
        self.runner.run(self.store.deliveries.route(ROUTES.decide))

    @initialize(numbers=st.sets(st.integers(0, 12), min_size=1))
    def some_have_come(self, numbers: set[int]) -> None:
        for number in sorted(numbers):
            self.deliver(number)
        self.route()

    @rule(target=turns)
    def claim(self) -> MultipleResults[Turn]:
        """As the courier does: now, or when the next channel is due."""
        turn = self.take() or self.take()
        return multiple(turn) if turn else multiple()

    @rule(target=turns)
    def claim_lookup(self) -> MultipleResults[Turn]:
        """As the finder does."""
        turn = self.take_lookup() or self.take_lookup()
        return multiple(turn) if turn else multiple()

    def take(self) -> ChannelLease | None:
        claimed = self.runner.run(self.store.leases.claim(limit=1))
        for turn in claimed.turns:
            self.started[turn.token] = self.true
            return turn
        self.true += claimed.next_in or 0.0
        return None

    def take_lookup(self) -> Lookup | None:
        for lookup in self.runner.run(self.store.lookups.claim(limit=1)):
            return lookup
        self.true += self.runner.run(self.store.lookups.next_in()) or 0.0
        return None

    @rule(target=posted, turn=consumes(turns))
    def slack_takes_it_and_the_answer_is_on_its_way(self, turn: Turn) -> MultipleResults[Turn]:
        self.say(turn)
        return multiple(turn)

    @rule(turn=consumes(turns))
    def slack_takes_it_and_the_worker_dies(self, turn: Turn) -> None:
        self.say(turn)

    @rule(turn=consumes(turns))
    def slack_takes_it_and_the_connection_is_cut(self, turn: Turn) -> None:
        self.say(turn)
        if isinstance(turn, Lookup):
            self.settle_lookup(turn, Look(error="connection lost"))
        else:
            self.settle(turn, Unknown())

    @rule(turn=consumes(posted))
    def the_answer_arrives(self, turn: Turn) -> None:
        """Perhaps long after the lease was lost."""
        if isinstance(turn, Lookup):
            self.settle_lookup(turn, self.seen.pop(self.place(turn)))
            return
        ts = self.slack.get(turn.posts[0].key)
        self.settle(turn, Sent(ts=f"{ts:.6f}") if ts else Unknown())

    @rule(turn=consumes(turns), outcome=st.sampled_from(sorted(REFUSALS)))
    def slack_says_no(self, turn: Turn, outcome: str) -> None:
        if isinstance(turn, Lookup):
            self.settle_lookup(turn, LOOKS[outcome])
        else:
            self.settle(turn, REFUSALS[outcome])

    @rule(turn=consumes(turns))
    def a_worker_dies_before_it_speaks(self, turn: Turn) -> None:
        """Its turn is forgotten; the row is not."""

    @rule(seconds=st.sampled_from([0.1, 1.0, 5.0, 11.0, 400.0]))
    def time_passes(self, seconds: float) -> None:
        self.true += seconds

    @rule(seconds=st.sampled_from([3.0, 60.0, 600_000.0]))
    def the_clock_is_set_back(self, seconds: float) -> None:
        self.set_back += seconds

    @rule()
    def dead_letters_are_tried_again(self) -> None:
        self.runner.run(self.store.dead_letters.revive())

    @invariant()
    def no_alert_is_in_slack_twice(self) -> None:
        assert not [name for name, times in self.shown.items() if times > 1]

    @invariant()
    def accepted_is_sent_and_waiting_and_uncertain_and_dead(self) -> None:
        def stored(tx: Transaction) -> tuple[set[bytes], Sequence[bytes], int | None, set[str]]:
            return (
                set(tx.scalars(sa.select(deliveries.c.dkey))),
                tx.scalars(sa.select(deliveries.c.dkey).where(sa.not_(deliveries.c.pending))).all(),
                tx.scalar(sa.select(sa.func.count()).where(posts.c.kind == "alert")),
                set(tx.scalars(sa.select(posts.c.alert_id).where(posts.c.state == "sent"))),
            )

        known, read, alerts, sent = self.runner.run(self.store.database.write(stored))
        assert len(known) == len(self.accepted)
        assert len(read) == len(set(read)) == alerts
        assert sent - {""} <= set(self.shown)

    def timed_out(self, turn: ChannelLease) -> bool:
        return self.true - self.started[turn.token] >= PACE.patience

    def say(self, turn: Turn) -> None:
        """The message is there, for a call ends before its lease does; a look-up sees what is there now."""
        if isinstance(turn, Lookup):
            keys = {post.key for post in turn.posts}
            found = {
                key: f"{at:.6f}"
                for key, at in self.slack.items()
                if key in keys and at > turn.since - CLOCKS_APART
            }
            self.seen[self.place(turn)] = Look(found=found, complete=True, pages=1)
        elif not self.timed_out(turn):
            self.slack[turn.posts[0].key] = self.true
            self.shown.update(post.alert_id for post in turn.posts if post.alert_id)

    def place(self, lookup: Lookup) -> tuple[str, str, int]:
        return lookup.channel, lookup.thread_ts, lookup.token

    def settle(self, turn: ChannelLease, outcome: Outcome) -> None:
        self.runner.run(self.store.outcomes.settle(turn, outcome))

    def settle_lookup(self, lookup: Lookup, look: Look) -> None:
        self.runner.run(self.store.lookups.settle(lookup, look))

    def drain(self) -> None:
        """Slack is well, one worker lives: everything that was accepted is posted."""
        self.route()
        for _ in range(400):
            self.true += 31.0
            self.dead_letters_are_tried_again()
            for turn in (self.take_lookup(), self.take()):
                if turn is not None:
                    self.say(turn)
                    self.the_answer_arrives(turn)
            if len(self.shown) == len(self.accepted) and self.nothing_waits():
                break
        assert len(self.shown) == len(self.accepted)
        self.no_alert_is_in_slack_twice()

    def nothing_waits(self) -> bool:
        waiting = sa.select(sa.func.count()).where(posts.c.state != "sent")
        return self.runner.run(self.store.database.write(lambda tx: tx.scalar(waiting))) == 0


TestPipeline = Pipeline.TestCase
TestPipeline.settings = settings(
    max_examples=12, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)


@pytest.mark.soak
@pytest.mark.timeout(1800)
class TestPipelineAtLength(Pipeline.TestCase):  # type: ignore[misc, valid-type]  # made at run time
    """The same with a thousand examples."""

    settings = settings(TestPipeline.settings, max_examples=1_000, stateful_step_count=50)
