"""The long form of the memory's measurement, which `make soak` runs beside those of the kills and of the simulation."""

from __future__ import annotations

import json

import pytest

from tools.bench.bot_bench import resident, slope


@pytest.mark.soak
@pytest.mark.timeout(1800)
async def test_memory_is_flat_over_a_million_deliveries() -> None:
    mebibytes = await resident(1_000_000)
    print(json.dumps({"mebibytes": [round(one, 1) for one in mebibytes]}))  # noqa: T201 a report
    assert slope(mebibytes) < 1.0
