"""What is loaded before the first screen and for help: not what takes longer to load than that to be shown."""

from __future__ import annotations

import subprocess
import sys

SLOW = {"sqlalchemy", "httpx", "structlog", "dns", "alembic", "psycopg", "apscheduler", "slack_sdk"}


def test_the_first_screen_waits_for_no_database_and_no_client() -> None:
    program = "import sys, cli.commands.launch, cli.console.resources, tui.app.run; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert not SLOW & set(loaded.stdout.split())


def test_help_waits_for_no_client_no_records_and_no_parser() -> None:
    program = "import sys, cli.main; cli.main.main(['--help']); print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    loaded = set(ran.stdout.splitlines()[-1].split())
    assert not loaded & {
        *SLOW,
        "argparse",
        "pathlib",
        "pydantic",
        "rich",
        "shared.api.client",
        "shared.records",
    }
