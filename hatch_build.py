"""Records the commit that a wheel or a source distribution is built from.

What is packed, and where, are static lines of pyproject.toml. A source distribution has the file too, so that a
wheel built from it knows the commit.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMMIT_FILE = "commit.txt"


class Commit(BuildHookInterface[Any]):
    """Adds the file with the commit; an editable install asks git."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the file, and have it packed; hatchling calls this before it packs."""
        commit = self._commit()
        if version != "standard" or not commit:
            return
        packed = Path(self.directory) / COMMIT_FILE
        packed.parent.mkdir(parents=True, exist_ok=True)
        packed.write_text(f"{commit}\n", encoding="ascii")
        folder = "outreach_ops/" if self.target_name == "wheel" else ""
        build_data["force_include"][str(packed)] = f"{folder}{COMMIT_FILE}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Leave nothing beside what was packed."""
        (Path(self.directory) / COMMIT_FILE).unlink(missing_ok=True)

    def _commit(self) -> str:
        """From a source distribution, from git, or from OUTREACH_COMMIT where there is neither."""
        kept = Path(self.root) / COMMIT_FILE
        if kept.is_file():
            return kept.read_text(encoding="ascii").strip()
        if not (Path(self.root) / ".git").exists():
            return os.environ.get("OUTREACH_COMMIT", "")
        try:
            words = ["git", "-C", self.root, "rev-parse", "--short=12", "HEAD"]
            return subprocess.run(words, capture_output=True, text=True, timeout=5, check=True).stdout.strip()  # noqa: S603 # fixed words
        except (OSError, subprocess.SubprocessError):
            return ""
