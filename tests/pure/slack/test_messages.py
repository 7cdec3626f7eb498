"""Posting once and looking for what may be there, against a Slack that has a history."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bot import blockkit
from bot.blockkit import Message
from bot.slack import web_api
from bot.slack.messages import EVENT_TYPE, PAGE, PAGES, MessageSender
from bot.slack.web_api import open_web_api
from sandbox.slack import seed
from shared.api.pace import boot_time
from shared.domain.card import Card
from shared.settings import SlackSettings, load
from shared.store.jobs import Job
from shared.store.messages import Look, Lookup, NotSent, Post, Sent, Unknown
from tests.kit.bot import CHANNEL
from tests.kit.clock import moment
from tests.kit.team import Installation, installed

WORDS = Message(text="Ada is interested", blocks=[])
CARD = blockkit.render(Card(title="Ada is interested"))


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[Installation]:
    async with installed(tmp_path) as opened:
        await opened.act("settings", messages_per_second=0)
        yield opened


@pytest.fixture
async def messenger(bot: Installation) -> AsyncIterator[MessageSender]:
    async with open_web_api(load(environ=bot.environ).slack) as slack:
        yield MessageSender(slack, timeout=5.0)


async def say(
    messenger: MessageSender,
    key: str,
    *,
    message: Message = WORDS,
    seconds: float = 5.0,
    thread_ts: str = "",
    channel: str = CHANNEL,
) -> Any:
    deadline = boot_time() + seconds
    return await messenger.post(
        channel, message, payload={"key": key}, deadline=deadline, thread_ts=thread_ts
    )


def lookup(key: str, *, since: float, thread_ts: str = "") -> Lookup:
    """The search for the message of one post."""
    job, post = cast("Job", None), cast("Post", SimpleNamespace(key=key))
    return Lookup(job=job, channel=CHANNEL, thread_ts=thread_ts, posts=(post,), since=since, began_at=since)


async def find(messenger: MessageSender, key: str, *, since: float, thread_ts: str = "") -> Look:
    """Read as far as the reading gets."""
    sought = lookup(key, since=since, thread_ts=thread_ts)
    return await messenger.look(sought, deadline=boot_time() + 60)


def post_messages(bot: Installation, count: int, *, thread_ts: str | None = None) -> None:
    """So many messages of people."""
    world = bot.slack.workspace
    for number in range(count):
        world.post(world.channel(CHANNEL), user=seed.ANN.id, text=f"{number}", thread_ts=thread_ts)


async def test_the_second_try_without_blocks_ends_with_the_same_lease(
    bot: Installation, messenger: MessageSender
) -> None:
    # One second is left, and a call may take five: begun now, it could be cut off while Slack works on it.
    fault = {"method": "chat.postMessage", "kind": "error", "error": "invalid_blocks", "delay": 2.0}
    await bot.act("faults", **fault)
    assert isinstance(await say(messenger, "slow", message=CARD, seconds=3.0), NotSent)
    assert len(await bot.calls("chat.postMessage")) == 1


async def test_an_answer_waits_once_for_the_limit_of_slack(bot: Installation) -> None:
    await bot.act("settings", messages_per_second=1, burst=1)
    async with open_web_api(load(environ=bot.environ).slack) as slack:
        for _ in range(2):
            await slack.call("chat.postMessage", retry=True, channel=CHANNEL, text="x")
    assert len(await bot.calls("chat.postMessage")) == 3


@pytest.mark.parametrize(
    ("fault", "answered"),
    [
        ({"kind": "error", "error": "fatal_error"}, True),
        ({"kind": "status", "status": 500}, True),
        ({"kind": "garbage"}, True),
        # A gateway answers in Slack's place: the call may still be on its way to Slack.
        ({"kind": "status", "status": 502}, False),
        ({"kind": "status", "status": 503}, False),
        ({"kind": "status", "status": 504}, False),
        ({"kind": "cut"}, False),
    ],
    ids=lambda value: "-".join(str(one) for one in value.values()) if isinstance(value, dict) else "",
)
async def test_a_call_without_a_response_from_slack_may_still_arrive(
    bot: Installation, messenger: MessageSender, *, fault: dict[str, Any], answered: bool
) -> None:
    await bot.act("faults", method="chat.postMessage", **fault)
    outcome = await say(messenger, "doubt")
    assert isinstance(outcome, Unknown)
    assert outcome.answered is answered


async def test_a_message_is_found_behind_newer_ones(
    bot: Installation, messenger: MessageSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = moment().timestamp()
    sent = await say(messenger, "there")
    post_messages(bot, 3 * PAGE)
    assert (await find(messenger, "there", since=began)).found == {"there": sent.ts}
    absent = await find(messenger, "not there", since=began)
    assert (absent.complete, absent.found) == (True, {})
    # The clock of a bot that has just started may be ahead of Slack's.
    monkeypatch.setattr(web_api, "time", SimpleNamespace(time=lambda: began + 86_400))
    async with open_web_api(load(environ=bot.environ).slack) as slack:
        started = MessageSender(slack, timeout=5.0)
        assert (await find(started, "there", since=began + 86_400)).found


async def test_an_incompletely_read_history_proves_nothing(
    bot: Installation, messenger: MessageSender
) -> None:
    post_messages(bot, PAGES * PAGE + 1)
    look = await find(messenger, "there", since=moment().timestamp())
    assert (look.complete, look.hidden) == (False, True)


async def test_only_the_bots_own_metadata_names_a_message(
    bot: Installation, messenger: MessageSender
) -> None:
    world = bot.slack.workspace
    # Another app may write the same key into metadata of its own.
    for kind in ("someone_elses", EVENT_TYPE):
        assert (await find(messenger, "k", since=moment().timestamp())).complete
        metadata = {"event_type": kind, "event_payload": {"key": "k"}}
        world.post(world.channel(CHANNEL), user=seed.BOT.id, text="x", metadata=metadata, app=seed.APP)
    assert (await find(messenger, "k", since=moment().timestamp())).found


async def test_a_post_for_a_deleted_thread_goes_to_the_channel_and_is_found_there(
    bot: Installation, messenger: MessageSender
) -> None:
    gone = "1500000000.000100"
    sent = await say(messenger, "orphan", thread_ts=gone)
    assert isinstance(sent, Sent)
    (message,) = await bot.messages()
    assert message.data.get("thread_ts") is None
    # Looked for in the thread alone, it would be taken for lost and posted again.
    look = await find(messenger, "orphan", since=moment().timestamp(), thread_ts=gone)
    assert look.found == {"orphan": sent.ts}


async def test_a_machine_that_was_suspended_after_the_claim_posts_nothing(
    bot: Installation, messenger: MessageSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    deadline, read = boot_time() + 8, time.clock_gettime
    monkeypatch.setattr(
        time, "clock_gettime", lambda clock: read(clock) + 3600.0
    )  # the monotonic clock stood still
    outcome = await messenger.post(CHANNEL, WORDS, payload={"key": "late"}, deadline=deadline)
    assert isinstance(outcome, NotSent)
    assert await bot.messages() == []


MESSAGE = {"ts": "1700000000.000100", "type": "message", "text": "x"}
OURS = {**MESSAGE, "metadata": {"event_type": EVENT_TYPE, "event_payload": {"key": "k"}}}
ODD: list[Any] = [
    None,
    [],
    {"ok": True},
    {"ok": True, "messages": None},
    {"ok": True, "messages": {"0": MESSAGE}},
    {"ok": True, "messages": ["x", MESSAGE]},
    {"ok": True, "messages": [], "response_metadata": {"next_cursor": 7}},
    {"ok": True, "messages": [], "response_metadata": ["x"]},
    {"ok": True, "messages": [], "has_more": True},
    {"ok": True, "messages": [{**OURS, "ts": None}]},
    {"ok": False, "error": "internal_error", "response_metadata": {"messages": 7}},
]


@pytest.mark.parametrize("answer", ODD, ids=str)
async def test_an_answer_of_odd_shape_proves_nothing(
    bot: Installation, messenger: MessageSender, answer: object
) -> None:
    await bot.act("faults", method="conversations.history", kind="answer", answer=answer)
    look = await find(messenger, "k", since=moment().timestamp())
    assert (look.complete, look.found, look.hidden) == (False, {}, False)
    assert look.error


@pytest.mark.parametrize(
    "part", [{"metadata": "x"}, {"metadata": {"event_type": 7}}, {"blocks": "x"}], ids=str
)
async def test_an_odd_message_of_somebody_else_hides_nothing(
    bot: Installation, messenger: MessageSender, part: dict[str, Any]
) -> None:
    answer = {"ok": True, "messages": [{**MESSAGE, **part}, OURS]}
    await bot.act("faults", method="conversations.history", kind="answer", answer=answer)
    look = await find(messenger, "k", since=moment().timestamp())
    assert look.found == {"k": OURS["ts"]}


async def test_a_page_whose_cursor_has_ended_is_read_from_the_beginning(
    bot: Installation, messenger: MessageSender
) -> None:
    post_messages(bot, PAGE + 1)
    fault = {"kind": "error", "error": "invalid_cursor"}
    await bot.act("faults", method="conversations.history", kind="delay")
    await bot.act("faults", method="conversations.history", **fault)
    look = await find(messenger, "k", since=moment().timestamp())
    assert (look.complete, look.hidden) == (False, False)
    assert look.error


@pytest.mark.parametrize(
    ("asked", "seconds"), [({}, 1.0), ("7", 7.0), ("0", 0.1), ("9999", 3600.0), ("soon", 1.0)]
)
def test_a_wait_that_slack_asks_for_is_bounded(asked: Any, seconds: float) -> None:
    assert web_api._retry_after(asked and {"Retry-After": asked}) == seconds


async def test_what_surely_was_not_sent_is_sent_again_soon(
    bot: Installation, messenger: MessageSender
) -> None:
    async with open_web_api(SlackSettings(api_url="http://127.0.0.1:1/")) as nowhere:
        for channel in (CHANNEL, seed.ANN.id):
            outcome = await say(MessageSender(nowhere, timeout=5.0), "k", channel=channel)
            assert outcome == NotSent(after=2.0, error="Slack can't be reached")
    await bot.act("faults", method="conversations.open", kind="status", status=500)
    assert (await say(messenger, "k", channel=seed.ANN.id)).after == 2.0
    # Without this permission a message still reaches a person by the id.
    await bot.act("faults", method="conversations.open", kind="error", error="missing_scope")
    assert isinstance(await say(messenger, "k", channel=seed.ANN.id), Sent)
    await bot.act("faults", method="conversations.history", kind="rate_limited", retry_after=3)
    look = await find(messenger, "k", since=moment().timestamp())
    assert (look.complete, look.after, look.error) == (False, 3.0, "ratelimited")


async def test_a_slow_look_up_ends_with_its_lease(bot: Installation, messenger: MessageSender) -> None:
    post_messages(bot, PAGE + 1)
    look = await messenger.look(lookup("k", since=moment().timestamp()), deadline=boot_time() + 1)
    assert (look.complete, look.error) == (False, "the time allowed ran out")
