"""Adds the package `outreach_client`, which is `shared/api` of the checkout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "outreach_client"


class Package(BuildHookInterface[Any]):
    """The package lies beside this folder, where hatchling doesn't look."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add it; called by hatchling before it packs a wheel or a source distribution."""
        if not Path(self.root, PACKAGE).is_dir():  # there it is in a source distribution
            build_data["force_include"][str(Path(self.root, "../../shared/api").resolve())] = PACKAGE
