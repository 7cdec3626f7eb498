"""Reads the tables that stand beside the code, in TOML files."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any


def read_toml(module: str, name: str) -> Any:
    """Read the TOML file of this name beside the module with this `__file__`."""
    return tomllib.loads(Path(module).with_name(name).read_text("utf-8"))
