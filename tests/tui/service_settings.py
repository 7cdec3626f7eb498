"""The settings of a dashboard that reads a sandbox."""

from __future__ import annotations

from pathlib import Path

from sandbox.service import Service
from shared.settings import Settings, load


def settings_of(service: Service, folder: Path) -> Settings:
    """Its first workspace, with a database in the folder, read as seldom as can be."""
    (folder / "outreach.toml").touch()
    key = next(iter(service.api_keys.values()))
    return load(
        config=folder / "outreach.toml",
        environ={
            "OUTREACH_BASE_URL": service.base_url,
            "OUTREACH_API_KEY": key,
            "OUTREACH_DATABASE_URL": f"sqlite:///{folder}/outreach.db",
            "OUTREACH_POLL_SECONDS": "3600",
        },
    )
