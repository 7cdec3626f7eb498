"""Workers of one budget in processes of their own."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from sqlalchemy.engine import URL

from tests.processes import running_async
from tests.shared.api.scripted_server import ScriptedServer

ROOT = Path(__file__).parents[3]
SLOT = 1 / 9.5


async def worker(url: URL, server: ScriptedServer, priority: str, count: int) -> dict[str, Any]:
    command = (
        sys.executable,
        str(Path(__file__).with_name("budget_worker.py")),
        url.render_as_string(hide_password=False),
        server.base_url,
        priority,
        str(count),
    )
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    async with running_async(*command, stdout=asyncio.subprocess.PIPE, env=environ) as process:
        out, _ = await process.communicate()
    assert process.returncode == 0
    body: dict[str, Any] = json.loads(out)
    return body
