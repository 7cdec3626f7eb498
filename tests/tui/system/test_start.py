"""What is loaded before the first screen: not what takes longer to load than that to be painted."""

from __future__ import annotations

import subprocess
import sys

SLOW = {"sqlalchemy", "httpx", "structlog", "dns", "alembic", "psycopg", "apscheduler", "slack_sdk"}


def test_the_first_screen_waits_for_no_database_and_no_client() -> None:
    program = "import sys, cli.commands.launch, cli.console.resources, tui.app.run; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert not SLOW & set(loaded.stdout.split())
