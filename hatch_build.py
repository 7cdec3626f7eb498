"""What is packed: the program and its pages under `outreach_ops`, the API client also as `outreach_client`, the commit.

A source distribution holds the checkout and the commit, so that a wheel built from it knows the commit, too.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PROGRAM = ("bot", "cli", "sandbox", "shared", "tui", "manifest.yml")
COMMIT_FILE = "commit.txt"


class Layout(BuildHookInterface[Any]):
    """Moves the folders while a wheel is packed; an editable install uses them where they are."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the folders and the commit; called by hatchling before it packs a wheel or a source distribution."""
        if version != "standard":
            return
        files = build_data["force_include"]
        if self.target_name == "wheel":
            files |= {source: f"outreach_ops/{source}" for source in PROGRAM}
            files["shared/api"] = "outreach_client"
        if commit := self._commit():
            packed = Path(self.directory) / COMMIT_FILE
            packed.parent.mkdir(parents=True, exist_ok=True)
            packed.write_text(f"{commit}\n", encoding="ascii")
            files[str(packed)] = f"outreach_ops/{COMMIT_FILE}" if self.target_name == "wheel" else COMMIT_FILE

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
