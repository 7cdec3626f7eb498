"""The shell: what `outreach --help` costs."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

Row = tuple[str, float, str, str, bool]
ROOT = Path(__file__).parents[2]
RUNS = 15


def run() -> list[Row]:
    """Compare the start with that of an empty interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        return [_start_up(Path(folder))]


def _environ(folder: Path) -> dict[str, str]:
    """Return an environment that keeps compiled modules, as an installation does."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(folder / "compiled"), "HOME": str(folder)}


def _start_up(folder: Path) -> Row:
    empty = [sys.executable, "-c", "pass"]
    helping = [sys.executable, "-P", "-m", "outreach_ops", "--help"]
    environ = _environ(folder)
    _seconds(helping, environ)  # compiles
    # By turns, so that a busy moment meets both.
    pairs = [(_seconds(empty, environ), _seconds(helping, environ)) for _ in range(RUNS)]
    ratio = statistics.median(h for _, h in pairs) / statistics.median(e for e, _ in pairs)
    return ("outreach --help", ratio, "× python -c pass", "under 6", ratio < 6)


def _seconds(command: list[str], environ: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, cwd=ROOT, env=environ, check=True, capture_output=True)
    return time.perf_counter() - began
