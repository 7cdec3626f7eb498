"""Measures the memory of the whole bot while deliveries go through it."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path

import psutil

from tools.bench.intake_server import SECRET
from tools.bench.load import deliveries, fire

CHUNK = 25_000
MEBIBYTE = 1024 * 1024


async def resident(total: int) -> Sequence[float]:
    """Mebibytes after each chunk of distinct deliveries, the first chunk being the warming up."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the PostgreSQL that it imports, as where the tests start theirs
        from tools.bench.bot_bench import server  # late: that module measures with this one

    found = []
    with tempfile.TemporaryDirectory() as folder:
        async with server("bot", Path(folder)) as (port, pid):
            process = psutil.Process(pid)
            for first in range(0, total, CHUNK):
                await fire(port, deliveries(CHUNK, secret=SECRET, first=first))
                found.append(process.memory_info().rss / MEBIBYTE)
    return found


def slope(found: Sequence[float]) -> float:
    """Mebibytes a hundred thousand deliveries, by least squares over the second half."""
    later = found[len(found) // 2 :]
    middle, mean = (len(later) - 1) / 2, sum(later) / len(later)
    spread = sum((at - middle) ** 2 for at in range(len(later)))
    rise = sum((at - middle) * (one - mean) for at, one in enumerate(later)) / spread
    return rise * 100_000 / CHUNK
