"""Kill -9 at every commit and at every request of the real process: nothing is lost, doubled, undone or stuck."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from collections import Counter
from itertools import count
from pathlib import Path

import pytest

from tests.faults.kills.process import MOMENTS, Kill, Moment
from tests.faults.kills.scenario import play
from tests.kit.databases import migrated_postgresql

COMMITS, REQUESTS = MOMENTS[:2], MOMENTS[2:]
AT_ONCE = 6
"""Runs at the same time: each of them mostly waits."""


Problems = list[str]


@pytest.mark.e2e
async def test_no_kill_at_some_commits_and_requests_loses_or_doubles_anything(tmp_path: Path) -> None:
    kills = [
        *(Kill(moment, 1, table) for moment in COMMITS for table in ("deliveries", "UPDATE posts", "jobs")),
        *(Kill(moment, 2, words) for moment in REQUESTS for words in ("chat.postMessage", "PATCH")),
    ]
    places = asyncio.Semaphore(AT_ONCE)

    async def one(kill: Kill) -> Problems:
        async with places:
            return report(kill, *await play(own_folder(tmp_path), kill=kill), must_be_killed=True)

    assert [line for lines in await asyncio.gather(*map(one, kills)) for line in lines] == []


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
async def test_no_kill_at_any_commit_or_request_loses_or_doubles_anything(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    server = request.getfixturevalue("postgresql") if engine == "postgresql" else ""
    kills: Counter[Moment] = Counter()
    problems: Problems = []
    for moment in MOMENTS:
        found = await at_each(moment, tmp_path, server)
        kills[moment], problems = len(found), problems + [line for lines in found for line in lines]
        print(json.dumps({"engine": engine, "kills": kills, "problems": problems}))  # noqa: T201 a report
    assert min(kills.values()) > 20
    assert problems == []


async def at_each(moment: Moment, folder: Path, server: str) -> list[Problems]:
    """Kill at the first such moment, the second, and so on, until a run ends without a kill; problems by kill."""
    numbers, found, ended = count(1), list[Problems](), asyncio.Event()

    async def some() -> None:
        while not ended.is_set():
            kill, own = Kill(moment, next(numbers)), own_folder(folder)
            database = migrated_postgresql(server) if server else ""
            where, wrong = await play(own, database=database, kill=kill)
            if not where:
                ended.set()
            found.append(report(kill, where, wrong))
            await asyncio.to_thread(shutil.rmtree, own)

    await asyncio.gather(*(some() for _ in range(AT_ONCE)))
    return found


def report(kill: Kill, where: str, wrong: Problems, *, must_be_killed: bool = False) -> Problems:
    if must_be_killed and not where:
        wrong = [*wrong, "the bot did as much without being killed"]
    return [f"{kill.moment} {kill.number} ({where}): {one}" for one in wrong]


def own_folder(folder: Path) -> Path:
    return Path(tempfile.mkdtemp(dir=folder))
