"""The long form of the memory's measurement, which `make soak` runs beside those of the kills and of the simulation."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import psutil
import pytest

from tools.bench.bot_bench import MEBIBYTE, server
from tools.bench.intake_server import SECRET
from tools.bench.load import deliveries, fire

TOTAL, CHUNK = 1_000_000, 25_000


@pytest.mark.soak
@pytest.mark.timeout(1800)
async def test_memory_is_flat_over_a_million_deliveries(tmp_path: Path) -> None:
    mebibytes = []
    async with server("bot", tmp_path) as (port, pid):
        for first in range(0, TOTAL, CHUNK):
            await fire(port, deliveries(CHUNK, secret=SECRET, first=first))
            mebibytes.append(psutil.Process(pid).memory_info().rss / MEBIBYTE)
    print(json.dumps({"mebibytes": [round(one, 1) for one in mebibytes]}))  # noqa: T201 a report
    # The first half warms up. What is left is a megabyte at most for a hundred thousand deliveries.
    later = mebibytes[len(mebibytes) // 2 :]
    assert statistics.linear_regression(range(len(later)), later).slope < CHUNK / 100_000
