"""Whatever JSON a bot sends, a method answers or refuses; it never breaks."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.slack.state import scopes, seed
from sandbox.slack.state.clock import Clock
from sandbox.slack.state.errors import Refusal
from sandbox.slack.state.feed import Feed
from sandbox.slack.state.rate_limits import TIERS, Buckets
from sandbox.slack.state.settings import Credentials, Settings
from sandbox.slack.to_bot.delivery import Delivery
from sandbox.slack.to_bot.sockets import Sockets
from sandbox.slack.web_api.calls import METHODS
from sandbox.slack.web_api.endpoint import FAMILIES
from sandbox.slack.web_api.workspace import Workspace, furnish
from tests.sandbox.slack.driver import Json, modal, section


def workspace() -> Workspace:
    """One without a server, whose app listens to no events."""
    chosen = Settings(request_url=None, events=frozenset())
    clock, feed, credentials = Clock(), Feed(), Credentials()
    sockets = Sockets(clock=clock, feed=feed)
    space: list[Workspace] = []
    delivery = Delivery(
        settings=lambda: chosen,
        credentials=credentials,
        clock=clock,
        sockets=sockets,
        traffic=lambda: space[0].traffic,
    )
    space.append(
        furnish(
            settings=chosen,
            credentials=credentials,
            clock=clock,
            feed=feed,
            sockets=sockets,
            delivery=delivery,
            origin="http://127.0.0.1:1",
        )
    )
    return space[0]


SPACE = workspace()
POSTED = SPACE.world.post(SPACE.world.channel(seed.ALERTS), user=seed.BOT.id, text="x", by_app=True).ts
LIKELY = [
    seed.ALERTS,
    seed.ANN.id,
    POSTED,
    "1",
    "",
    [section("x")],
    modal(),
    {"event_type": "t", "event_payload": {}},
]
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12) | st.sampled_from(LIKELY),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
NAMES = [
    "attachments",
    "blocks",
    "channel",
    "channel_id",
    "cursor",
    "external_id",
    "filename",
    "files",
    "hash",
    "include_all_metadata",
    "latest",
    "length",
    "limit",
    "message_ts",
    "metadata",
    "name",
    "oldest",
    "text",
    "thread_ts",
    "timestamp",
    "trigger_id",
    "ts",
    "types",
    "user",
    "user_id",
    "usergroup",
    "users",
    "view",
    "view_id",
]


def test_every_method_is_in_the_table_with_its_scope() -> None:
    assert set(METHODS) == set(scopes.NEEDED)
    assert len(FAMILIES) == 5


@pytest.mark.parametrize("name", sorted(METHODS))
@settings(max_examples=25, deadline=None)
@given(args=st.dictionaries(st.sampled_from(NAMES), ANYTHING, max_size=6))
def test_any_arguments_are_answered_or_refused(name: str, args: Json) -> None:
    answer: Any = None
    with contextlib.suppress(Refusal):
        answer = METHODS[name](SPACE.call(args))
    assert answer is None or isinstance(answer, dict)


@given(
    st.lists(st.floats(min_value=0, max_value=3), max_size=60),
    st.integers(min_value=1, max_value=5),
)
def test_no_second_holds_more_than_the_burst_and_one(gaps: list[float], burst: int) -> None:
    buckets = Buckets()
    now, taken = 0.0, list[float]()
    for gap in gaps:
        now += gap
        with contextlib.suppress(Refusal):
            buckets.take("C", rate=1.0, burst=burst, now=now)
            taken.append(now)
    for start in taken:
        assert sum(start <= at < start + 1 for at in taken) <= burst + 1


@given(st.floats(min_value=0.1, max_value=50), st.integers(min_value=1, max_value=5))
def test_who_waits_as_long_as_told_is_let_through(rate: float, burst: int) -> None:
    buckets = Buckets()
    now, refused = 0.0, 0
    for _ in range(burst * 3):
        try:
            buckets.take("C", rate=rate, burst=burst, now=now)
        except Refusal as refusal:
            refused += 1
            now += refusal.retry_after or 0
            buckets.take("C", rate=rate, burst=burst, now=now)
    assert refused


def test_every_tier_is_of_a_method_that_there_is() -> None:
    assert set(TIERS) <= set(METHODS)
    assert set(METHODS) - set(TIERS) == {"auth.test", "chat.postMessage", "chat.getPermalink"}
