"""Are the settings complete, and is the file that holds the keys private?"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

from cli.doctor.finding import Finding, bad, doubtful, good
from shared.settings import Need, Settings, SettingsError, load


def examine(config: Path | None) -> tuple[Settings | None, list[Finding]]:
    """The settings, as far as they can be read, and what was found about them."""
    try:
        settings = load(config=config, needs=tuple(Need))
        return settings, list(_privacy(settings))
    except SettingsError as refusal:
        faults = [bad("Configuration", f"{f.name} {f.problem}", cure=f.cure) for f in refusal.faults]
    try:
        return load(config=config), faults
    except SettingsError:
        return None, faults


def _privacy(settings: Settings) -> Iterator[Finding]:
    file = settings.file
    yield good(
        "Configuration",
        f"complete, from {file} and the environment" if file else "complete, from the environment",
    )
    if file and file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        cure = f"If it holds keys: chmod 600 {file}"
        yield doubtful("Configuration", f"others on this machine can read {file}", cure=cure)
