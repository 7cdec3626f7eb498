"""The wheel's layout: the program under `outreach_ops`, the API client also as `outreach_client`, and no other name."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PROGRAM = ("bot", "cli", "sandbox", "shared", "tui", "manifest.yml")


class WheelLayout(BuildHookInterface[Any]):
    """Moves the folders while a wheel is packed; an editable install uses them where they are."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the folders to a standard wheel; called by hatchling before it packs one."""
        if version == "standard":
            build_data["force_include"] |= {source: f"outreach_ops/{source}" for source in PROGRAM}
            build_data["force_include"]["shared/api"] = "outreach_client"
