"""A simulated month of the dashboard in a process of its own, so that its memory is its own."""

from __future__ import annotations

import asyncio
import sys

from tests.bench.tui_bench import month

if __name__ == "__main__":
    sys.stdout.write(" ".join(str(figure) for figure in asyncio.run(month())))
