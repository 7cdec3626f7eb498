"""Whatever JSON a bot sends, a method answers or refuses; it never breaks."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.clock import Clock
from sandbox.slack import seed
from sandbox.slack.delivery import Delivery
from sandbox.slack.errors import SlackError
from sandbox.slack.settings import Credentials, Settings
from sandbox.slack.web_api.call import Call
from sandbox.slack.web_api.methods import METHODS
from sandbox.slack.workspace import RateLimiter, Workspace
from tests.sandbox.slack.driver import Json, modal, section

# A workspace without a server, whose app listens to no events.
SPACE = Workspace(
    settings=Settings(events=frozenset(), messages_per_second=0),
    credentials=Credentials(),
    clock=Clock(),
    origin="http://127.0.0.1:1",
)
DELIVERY = Delivery(SPACE)
POSTED = SPACE.post(SPACE.channel(seed.ALERTS), user=seed.BOT.id, text="x", app=seed.APP).ts
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
    "cursor",
    "hash",
    "include_all_metadata",
    "latest",
    "manifest",
    "limit",
    "message_ts",
    "metadata",
    "oldest",
    "text",
    "thread_ts",
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


@pytest.mark.parametrize("name", sorted(METHODS))
@settings(max_examples=settings().max_examples // 3)  # for each method
@given(args=st.dictionaries(st.sampled_from(NAMES), ANYTHING, max_size=6))
def test_any_arguments_are_answered_or_refused(name: str, args: Json) -> None:
    answer: Any = None
    with contextlib.suppress(SlackError):
        call = Call(method=METHODS[name], args=args, workspace=SPACE, delivery=DELIVERY)
        answer = METHODS[name].run(call)
    assert answer is None or isinstance(answer, dict)


@given(
    st.lists(st.floats(min_value=0, max_value=3), max_size=60),
    st.integers(min_value=1, max_value=5),
)
def test_no_second_holds_more_than_the_burst_and_one(gaps: list[float], burst: int) -> None:
    clock, taken = Clock(0.0, speed=0), list[float]()
    limiter = RateLimiter(clock)
    for gap in gaps:
        clock.advance(gap)
        with contextlib.suppress(SlackError):
            limiter.take("C", rate=1.0, burst=burst)
            taken.append(clock.now())
    assert len(taken) >= min(burst, len(gaps))
    for start in taken:
        assert sum(start <= at < start + 1 for at in taken) <= burst + 1
