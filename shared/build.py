"""The commit of this program."""

from __future__ import annotations

import subprocess
from pathlib import Path

HOME = Path(__file__).parents[1]
"""The checkout, or the installed folder that holds the packages."""


def read_commit(home: Path = HOME) -> str:
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
