"""`outreach version` and `outreach --version`: the version, the commit and the database schema."""

from __future__ import annotations

import subprocess
from argparse import Namespace
from pathlib import Path

from bot.store.db import migrate
from cli.console import card_output, exit_codes

HOME = Path(__file__).parents[2]
"""The checkout, or the installed folder that holds the packages."""


def run(options: Namespace) -> int:
    """Print version, commit and schema."""
    version, commit = migrate.program_version(), read_commit(HOME)
    if options.json:
        card_output.print_data([{"version": version, "commit": commit or None, "schema": migrate.HEAD}])
    else:
        print(f"outreach {version} (commit {commit or 'unknown'}, schema {migrate.HEAD})")
    return exit_codes.DONE


def read_commit(home: Path) -> str:
    """The commit that was recorded when the package was built, else that of the checkout, else nothing."""
    recorded = home / "commit.txt"
    if recorded.is_file():
        return recorded.read_text(encoding="ascii").strip()
    if not (home / ".git").exists():
        return ""
    try:
        completed = subprocess.run(  # noqa: S603 # fixed words and this checkout's own path
            ["git", "-C", str(home), "rev-parse", "--short=12", "HEAD"],  # noqa: S607 # git is where PATH has it
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return completed.stdout.strip()
