"""Workers of one budget in processes of their own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sqlalchemy.engine import URL

from tests.client.scripted_server import ScriptedServer
from tests.processes import running_async

ROOT = Path(__file__).parents[3]
SLOT = 1 / 9.5


async def worker(url: URL, server: ScriptedServer, priority: str, count: int) -> int:
    """Run one to its end; its process id."""
    command = (
        sys.executable,
        str(Path(__file__).with_name("budget_worker.py")),
        url.render_as_string(hide_password=False),
        server.base_url,
        priority,
        str(count),
    )
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    async with running_async(*command, env=environ) as process:
        assert await process.wait() == 0
    return process.pid
