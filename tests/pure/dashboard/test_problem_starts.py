"""Since when something is wrong: the same in every process and face, and after any restart."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from shared.domain.snapshot import ProblemStart, from_json, to_json
from shared.history.history import History
from shared.records import DomainPast, DomainPause, PauseEnd
from shared.storage.database import parse_url
from tests.kit.scripted import ScriptedAccount
from tests.kit.snapshots import NOW, Clock, board_of
from tests.pure.dashboard.test_poller import Watcher, is_read, polled, scripted, stagger, trouble_of
from tui.entrypoints.once import as_data
from tui.feed.history_access import HistoryAccess
from tui.feed.poller import Tick
from tui.feed.workspace_state import WorkspaceState
from tui.model.alarms import since_words
from tui.model.board import DomainFacts
from tui.screens.report import report

__all__ = ["stagger"]  # a fixture of every test here
DOMAIN = "useacme.example"


def rest(service: ScriptedAccount, *, rests: bool) -> None:
    """Have the inboxes of the domain rest, and all others send; or these too."""
    for row in service.inboxes:
        row["status"] = "resting" if rests and row["email"].endswith(DOMAIN) else "active"
        row["health_score"] = 95.0


def account_at(clock: Clock) -> ScriptedAccount:
    service = scripted(now=lambda: clock().timestamp())
    rest(service, rests=True)
    return service


@asynccontextmanager
async def opened(folder: Path, service: ScriptedAccount, clock: Clock) -> AsyncIterator[Watcher]:
    async with History(parse_url(f"sqlite:///{folder}/history.db")) as store:
        history = HistoryAccess(store, workspace="acme")
        async with polled(service, history=history, now=clock) as (_, watcher):
            yield watcher


async def first_tick(folder: Path, service: ScriptedAccount, clock: Clock) -> Tick:
    """What a process shows that starts now, once everything was tried."""
    async with opened(folder, service, clock) as watcher:
        return await watcher.until(is_whole)


def is_whole(tick: Tick) -> bool:
    """Once everything was read, or failed to be: before, what was kept is shown."""
    is_polled = tick.beats > 0 or bool(trouble_of(tick))
    return (
        is_polled
        and bool(tick.snapshot.problems)
        and all((one.reading.read_at or one.reading.failed_since) for one in tick.board.stamps.values())
    )


def domain_since(tick: Tick, *, words: str) -> set[datetime | None]:
    """What each face says of the paused domain; those that say it in words say these."""
    now = NOW + timedelta(hours=5)
    state = WorkspaceState(workspace="acme")
    state.take(tick, now=now)
    (alarm,) = [one for one in state.alarms if one.where == DOMAIN]
    (viewed,) = [one for one in board_of(from_json(to_json(tick.snapshot))).conditions if one.where == DOMAIN]
    (told,) = [one for one in as_data(tick.board)["alarms"] if one["where"] == DOMAIN]
    assert (told["since"] is None) == words.startswith("before")
    frame = state.frame(now=now)
    assert any(f"not sending since {words}" in line.plain for line in report(frame, width=120))
    assert f"since {words}" in frame.headline.text
    is_known = frame.lasting(frame.conditions[DOMAIN]) != f"since {words}"
    assert is_known == bool(told["since"]), "how long it lasts is told where its start is known"
    (line,) = [one for one in frame.domain_lines if one.key == DOMAIN]
    assert line.since == words
    assert since_words(alarm.condition, now=now) == words
    seen = {datetime.fromisoformat(told["since"])} if told["since"] else set()
    return {alarm.condition.since, viewed.since, viewed.began, *seen}


async def test_what_one_process_saw_begin_another_knows(tmp_path: Path) -> None:
    clock = Clock()
    service = account_at(clock)
    clock.advance(-600)
    rest(service, rests=False)
    async with opened(tmp_path, service, clock) as watcher:
        await watcher.until(is_read)
        rest(service, rests=True)
        clock.time = NOW
        assert domain_since(await watcher.until(is_whole), words="14:32") == {NOW}
    clock.advance(3600)
    assert domain_since(await first_tick(tmp_path, service, clock), words="14:32") == {NOW}


async def test_the_bot_knows_of_a_pause_before_a_poll_sees_it(tmp_path: Path) -> None:
    clock = Clock()
    service = account_at(clock)
    paused_at = NOW - timedelta(minutes=40)
    async with History(parse_url(f"sqlite:///{tmp_path}/history.db")) as store:
        history = HistoryAccess(store, workspace="acme")
        async with polled(service, history=history, now=clock) as (poller, watcher):
            assert domain_since(await watcher.until(is_whole), words="before 14:32") == {NOW}
            assert poller.troubled_domains == {DOMAIN}
            past = DomainPast(pauses=(DomainPause(at=paused_at),))
            poller.note(domain_facts=DomainFacts(pasts={DOMAIN: past}))
            dated = await watcher.until(
                lambda tick: is_whole(tick) and not tick.snapshot.problems[0].is_older
            )
            assert domain_since(dated, words="13:52") == {paused_at}
            poller.note(pauses=(PauseEnd(sequence="sq_1", until=0.0),))
            noted = await watcher.until(lambda tick: bool(tick.snapshot.pauses))
            assert domain_since(noted, words="13:52") == {paused_at}
    clock.advance(3600)
    later = await first_tick(tmp_path, service, clock)
    assert domain_since(later, words="13:52") == {paused_at}, "another process, without the bot's records"
    async with History(parse_url(f"sqlite:///{tmp_path}/history.db")) as store:
        recalled = await HistoryAccess(store, workspace="acme").recall(now=clock())
    assert recalled.snapshot
    assert recalled.snapshot.problems == later.snapshot.problems, "also before the first poll"


def begun(seconds: float, **more: Any) -> ProblemStart:
    at = NOW.timestamp() + seconds
    about = {"key": f"domain {DOMAIN}", "kind": "paused", "since": at, "kind_since": at}
    return ProblemStart(**{**about, **more})


async def test_what_recovered_and_came_back_begins_anew(tmp_path: Path) -> None:
    old, worse = begun(-7200), {"kind": "bad", "kind_since": begun(120).since}
    async with History(parse_url(f"sqlite:///{tmp_path}/history.db")) as store:
        for seconds, seen, spared, known in (
            (0, begun(0), "", begun(0)),
            (5, old, "", begun(0)),  # it was seen to begin
            (10, None, "domain ", None),  # nothing was learned of domains
            (45, begun(45), "", begun(0)),
            (50, None, "", None),
            (80, begun(80), "", begun(0)),  # it was never gone
            (81, None, "", None),
            (112, begun(112), "", begun(112)),
            (120, begun(120, **worse), "", begun(112, **worse)),
            (130, None, "", None),
            (3600, old, "", begun(3600)),  # the record is of the pause before
        ):
            now = NOW + timedelta(seconds=seconds)
            present = [seen] if seen else []
            found = await store.follow_problems("acme", present, spared=spared, now=now)
            assert found == ((known,) if known else ()), seconds
