"""A confirmed pause stays: timers that are ending meanwhile, slow answers and other processes don't undo it.

Two changes of one sequence at once are in `test_pairs`; here are those of many, of three, and of a process that died.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from unittest import mock

import httpx
import pytest
import sqlalchemy as sa

from bot import cards
from bot.worker import LEASE_SECONDS
from shared.api.errors import OutreachError
from shared.records import LOCK_SECONDS, RecordsUnavailable
from shared.store.sequences import LATE_SECONDS, SequenceChanges
from tests.faults.races.account import Process, Remote, open_process
from tests.kit.manual_clock import HOUR, ManualClock, arrive, post_all
from tests.kit.scripted import Answer, Request, pass_on
from tests.kit.waiting import until

ONE = "sq_0001"


@pytest.fixture
async def remote() -> Remote:
    return Remote()


@pytest.fixture
async def ours(url: sa.URL, remote: Remote, clock: ManualClock, tmp_path: Path) -> AsyncIterator[Process]:
    async with open_process(url, remote, clock, tmp_path, name="ours") as process:
        yield process


@pytest.fixture
async def theirs(url: sa.URL, remote: Remote, clock: ManualClock, tmp_path: Path) -> AsyncIterator[Process]:
    async with open_process(url, remote, clock, tmp_path, name="theirs") as process:
        yield process


async def test_pause_all_holds_while_a_hundred_and_twenty_timers_are_due(
    ours: Process, theirs: Process, remote: Remote
) -> None:
    names = [f"sq_{number:04}" for number in range(120)]
    remote.statuses = dict.fromkeys(names, "paused")
    await ours.plan(names, seconds=-1)

    async def slowly(request: Request) -> None:
        await asyncio.sleep(0.01 if request.method == "PATCH" else 0)

    remote.before = slowly
    resuming = asyncio.create_task(ours.fire())
    # The pause begins among the resumptions: some are done, one is under way, and most are still to come.
    await until(lambda: len(remote.applied) >= 20)
    card = await theirs.say("pause all")
    assert "paused" in card.title
    await resuming
    await ours.fire()
    assert set(remote.statuses.values()) == {"paused"}, card
    assert (await ours.store.pauses("default")).timers == {}


async def test_pause_all_does_not_claim_what_it_cannot_keep_paused(
    ours: Process, theirs: Process, remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote.statuses = {ONE: "paused", "sq_2": "active"}
    await ours.plan([ONE], seconds=60)

    async def refuse(*_: object, **__: object) -> None:
        raise RecordsUnavailable("The bot's database is locked.")

    monkeypatch.setattr(SequenceChanges, "begin", refuse)
    outcome = await theirs.say("pause all")
    assert remote.statuses["sq_2"] == "paused"
    assert ONE not in outcome.title
    assert "database is locked" in " ".join((outcome.title, *outcome.text))


@pytest.mark.parametrize("line", ["pause all", "pause all for 2h"])
async def test_pause_all_makes_shorter_pauses_last_as_long_and_says_so(
    ours: Process, remote: Remote, clock: ManualClock, line: str
) -> None:
    remote.statuses = {"sq_0001": "active", "sq_0002": "paused", "sq_0003": "paused", "sq_0004": "paused"}
    await ours.plan(["sq_0002"], seconds=60)
    await ours.plan(["sq_0003"], seconds=5 * 3600)
    card = await ours.say(line)
    timed = line.endswith("2h")
    assert card.title.startswith("2 sequences" if timed else "3 sequences")
    assert any("Name of sq_0002" in text for text in card.text)
    (entry,) = await ours.store.audit("default")
    assert {"sq_0001", "sq_0002"} <= set(entry.sequences)
    clock.now += 3600
    await ours.fire()
    assert set(remote.statuses.values()) == {"paused"}
    clock.now += 3601
    await ours.fire()
    resumed = {"sq_0001", "sq_0002"} if timed else set()
    assert {name for name, status in remote.statuses.items() if status == "active"} == resumed
    longer = await ours.timer("sq_0003")
    assert (longer is not None) == timed, "a longer pause keeps its own end"


async def test_a_pause_of_a_domain_leaves_the_timers_of_other_domains(ours: Process, remote: Remote) -> None:
    remote.statuses = {"sq_0001": "paused", "sq_0002": "paused", "sq_0003": "active"}
    await ours.plan(["sq_0001", "sq_0002"], seconds=60)
    body = {"event": "lead.bounced", "lead": {"email": "a@b.example"}, "inbox": "sam@mail.example"}
    for name in ("sq_0001", "sq_0003"):
        event = json.dumps({**body, "sequence": f"Name of {name}"}).encode()
        await arrive(ours.store, event)
    card = await ours.say("pause domain:mail.example")
    assert card.title == "2 sequences are paused"
    assert await ours.timer("sq_0001") is None
    assert await ours.timer("sq_0002") is not None


@pytest.mark.parametrize("ends", ["400", "404"])
@pytest.mark.parametrize("line", ["pause sq_0001", "pause sq_0001 for 4h"])
async def test_a_pause_that_fails_leaves_the_earlier_one_with_its_end(
    ours: Process, remote: Remote, line: str, ends: str
) -> None:
    remote.statuses = {ONE: "paused", "sq_0002": "active"}
    await ours.plan([ONE], seconds=60)
    before = await ours.timer(ONE)

    async def refuse(request: Request) -> None:
        if request.method == "PATCH":
            raise Answer(int(ends))
        remote.set(ONE, "paused")

    # The list is outdated, so that a request is sent.
    remote.before = refuse
    await ours.store.changes.begin("default", ONE, status="active")
    ours.clock.now += 16
    with pytest.raises(OutreachError):
        await ours.say(line)
    assert await ours.timer(ONE) == before


async def test_a_dead_process_delays_the_next_change_by_one_lock_at_most(
    ours: Process, theirs: Process, remote: Remote, clock: ManualClock
) -> None:
    remote.statuses = {ONE: "active"}
    await ours.store.changes.begin("default", ONE, status="active")
    pausing = asyncio.create_task(theirs.say(f"pause {ONE}"))
    # The lock of a process that died has no event: this only shows that it is waited for, not for how long.
    await asyncio.sleep(0.3)
    assert not pausing.done()
    clock.now += LOCK_SECONDS
    assert (await pausing).title == f"Name of {ONE} is paused"


async def unanswered_resumption(process: Process, remote: Remote) -> None:
    """A timed pause ends, and the request of its resumption is neither answered nor carried out yet."""

    async def cut(request: Request) -> None:
        if request.status == "active":
            raise httpx.ReadTimeout("no answer")

    remote.statuses, remote.before = {ONE: "paused"}, cut
    await process.plan([ONE], seconds=-1)
    await process.fire()
    remote.before = pass_on
    assert remote.statuses == {ONE: "paused"}
    assert await process.timer(ONE) is not None


async def test_a_resumption_that_comes_late_does_not_end_a_confirmed_pause(
    ours: Process, theirs: Process, remote: Remote, clock: ManualClock
) -> None:
    await unanswered_resumption(ours, remote)
    assert "paused" in (await theirs.say(f"pause {ONE}")).title
    assert await ours.timer(ONE) is None
    # A request that was given up may still be carried out: the pause was confirmed after it, and has to win.
    remote.set(ONE, "active")  # the service has come to it
    await theirs.look_late()
    assert remote.statuses == {ONE: "paused"}
    # From now on no old request can be the cause: somebody resumed it, and is not overruled.
    clock.now += LATE_SECONDS
    remote.set(ONE, "active")  # by hand, in the service's own interface
    await theirs.look_late()
    assert remote.statuses == {ONE: "active"}


async def test_a_resumption_whose_process_died_does_not_end_a_confirmed_pause(
    ours: Process, theirs: Process, remote: Remote, clock: ManualClock
) -> None:
    remote.statuses = {ONE: "paused"}
    await ours.store.changes.begin("default", ONE, status="active")
    clock.now += LOCK_SECONDS
    await theirs.say(f"pause {ONE}")
    assert remote.applied == [(ONE, "paused")], "the list proves nothing while a request may be under way"
    remote.set(ONE, "active")
    await theirs.look_late()
    assert remote.statuses == {ONE: "paused"}


@pytest.mark.parametrize("line", ["pause sq_0001", "pause sq_0001 for 2h"])
async def test_a_timer_that_is_replaced_after_it_was_claimed_resumes_nothing(
    ours: Process, theirs: Process, remote: Remote, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote.statuses = {ONE: "paused"}
    await ours.plan([ONE], seconds=-1)
    begin = SequenceChanges.begin

    async def first_the_pause(*given: Any, **named: Any) -> Any:
        # The timer is claimed, and its change not begun: the only moment at which the pause can come between.
        monkeypatch.setattr(SequenceChanges, "begin", begin)
        await theirs.say(line)
        return await begin(*given, **named)

    monkeypatch.setattr(SequenceChanges, "begin", first_the_pause)
    await ours.fire()
    ours.clock.now += 60
    await ours.fire()
    assert remote.statuses == {ONE: "paused"}
    assert (ONE, "active") not in remote.applied
    assert await post_all(ours.store, ours.clock) == [], "nothing was resumed, and nothing is said"


async def test_a_sequence_that_is_paused_before_its_resumption_is_told_is_not_told(
    ours: Process, theirs: Process, remote: Remote, clock: ManualClock
) -> None:
    remote.statuses = dict.fromkeys([ONE, "sq_0002"], "paused")
    await ours.plan([ONE, "sq_0002"], seconds=-1)
    paused: list[str] = []

    async def after_the_first(request: Request) -> None:
        if request.by == "ours" and request.row == "sq_0002" and not paused:
            await until(lambda: (ONE, "active") in remote.applied)
            paused.append((await theirs.say(f"pause {ONE}")).title)

    remote.before = after_the_first
    await ours.fire()
    assert paused == [f"Name of {ONE} is paused"]
    assert remote.statuses == {ONE: "paused", "sq_0002": "active"}
    (post,) = await post_all(ours.store, clock)
    assert cards.read_note(post.note).title == "▶ Name of sq_0002 is sending again"


@pytest.mark.parametrize("refused", [False, True], ids=["unanswered", "refused"])
async def test_a_failed_pause_before_a_resumption_is_told_is_never_without_an_end(
    ours: Process, theirs: Process, remote: Remote, clock: ManualClock, *, refused: bool
) -> None:
    remote.statuses = dict.fromkeys([ONE, "sq_0002"], "paused")
    await ours.plan([ONE, "sq_0002"], seconds=-1)
    failed: list[OutreachError] = []

    async def before(request: Request) -> None:
        if request.by == "ours" and request.row == "sq_0002" and not failed:
            await until(lambda: (ONE, "active") in remote.applied)
            with pytest.raises(OutreachError) as failure:
                await theirs.say(f"pause {ONE} for 2h")
            failed.append(failure.value)
        if request.by == "theirs" and request.method == "PATCH" and refused:
            raise Answer(400)

    async def after(request: Request) -> None:
        if request.by == "theirs" and request.method == "PATCH":
            raise httpx.ReadError("cut")

    remote.before, remote.after = before, after
    await ours.fire()
    assert failed
    remote.before = remote.after = pass_on
    await ours.fire()
    timer = await ours.timer(ONE)
    if refused:
        assert (remote.statuses[ONE], timer) == ("active", None)
    else:
        assert remote.statuses[ONE] == "paused"
        assert timer is not None
        assert timer.due_at.timestamp() == pytest.approx(clock.now + 2 * HOUR, abs=1)


async def test_a_guardrail_does_not_insist_after_a_person_resumed(
    ours: Process, remote: Remote, clock: ManualClock
) -> None:
    async def cut(request: Request) -> None:
        if request.method == "PATCH":
            raise httpx.ReadTimeout("no answer")

    remote.statuses, remote.before = {ONE: "active"}, cut
    await ours.guard()
    remote.before = pass_on
    clock.now += 1
    assert "sending again" in (await ours.say(f"resume {ONE}")).title
    clock.now += 60
    await ours.fire()
    assert remote.statuses == {ONE: "active"}
    (post,) = await post_all(ours.store, clock)
    assert "Someone resumed it after the rule fired." in cards.read_note(post.note).text


@pytest.mark.parametrize("at", ["_pause", "_finish"])
async def test_a_guardrails_process_that_dies_at_a_pause_is_followed_by_another(
    ours: Process, theirs: Process, remote: Remote, clock: ManualClock, at: str
) -> None:
    """Before the pause, and after it, before anybody learns of it."""
    remote.statuses = {ONE: "active"}

    async def die(*_: object) -> None:
        raise RecordsUnavailable

    with mock.patch.object(ours.acts, at, die):
        await ours.guard()
    assert len(remote.applied) == (1 if at == "_finish" else 0)
    clock.now += LEASE_SECONDS
    await theirs.fire()
    assert await pauses_told(theirs, clock) == [f"Guardrail rule paused Name of {ONE}"]
    assert remote.applied == [(ONE, "paused")]


async def test_a_guardrails_process_that_is_slower_than_its_lease_tells_nothing_twice(
    ours: Process, theirs: Process, remote: Remote, clock: ManualClock
) -> None:
    remote.statuses = {ONE: "active"}

    async def slowly(request: Request) -> None:
        if request.by == "ours" and request.method == "PATCH":
            # The other takes the incident over while the first still waits for its answer.
            clock.now += LEASE_SECONDS + LOCK_SECONDS
            await theirs.fire()

    remote.after = slowly
    await ours.guard()
    assert await pauses_told(theirs, clock) == [f"Guardrail rule paused Name of {ONE}"]
    assert remote.applied == [(ONE, "paused")]


async def pauses_told(process: Process, clock: ManualClock) -> list[str]:
    """The titles of the messages about a pause of the one sequence, which the audit has once."""
    (entry,) = await process.store.audit("default")
    assert entry.sequences == (ONE,)
    return [cards.read_note(post.note).title for post in await post_all(process.store, clock)]
