"""`outreach version` and `outreach --version`: the version, the commit and the database schema."""

from __future__ import annotations

from argparse import Namespace

from bot.telemetry.build import HOME, read_commit
from cli.console import card_output, exit_codes
from shared.store.db import migrate


def run(options: Namespace) -> int:
    """Print version, commit and schema."""
    version, commit = migrate.program_version(), read_commit(HOME)
    if options.json:
        card_output.print_data([{"version": version, "commit": commit or None, "schema": migrate.HEAD}])
    else:
        print(f"outreach {version} (commit {commit or 'unknown'}, schema {migrate.HEAD})")
    return exit_codes.DONE
