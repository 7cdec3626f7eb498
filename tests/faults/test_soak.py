"""The long form of the fault tests: `make soak`, an hour unless OUTREACH_SOAK_SECONDS says otherwise."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

from tests.bot.harness import open_harness
from tests.bot.random_faults import FaultRun
from tests.faults.test_crashes import second_bot
from tests.kit.clock import moment
from tools.bench import memory

SECONDS = float(os.environ.get("OUTREACH_SOAK_SECONDS", "3600"))


@pytest.mark.soak
@pytest.mark.timeout(1800)
async def test_memory_is_flat_over_a_million_deliveries() -> None:
    found = await memory.resident(1_000_000)
    print(json.dumps({"mebibytes": [round(one, 1) for one in found]}))  # noqa: T201 a report
    assert memory.slope(found) < 1.0


@pytest.mark.soak
@pytest.mark.timeout(SECONDS + 900)
@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
async def test_random_faults_lose_nothing_and_double_nothing(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    seed = int(moment().timestamp())
    database = request.getfixturevalue("fresh_postgresql") if engine == "postgresql" else ""
    async with open_harness(tmp_path, database=database) as bot, second_bot(bot) as other:
        await bot.control("settings", messages_per_second=0)
        doors = (bot, other) if database else (bot,)
        fault_run = FaultRun(doors=doors, database=database, dice=random.Random(seed))
        await fault_run.inject(SECONDS)
        report = await fault_run.report()
    print(json.dumps({"engine": engine, "seconds": SECONDS, "seed": seed, **report}, indent=2))  # noqa: T201 the report is for whoever waited for it
    assert report["accepted"]
    assert (report["doubled"], report["lost"]) == ([], 0)
