"""The shell: what `outreach --help` costs, and a million-row CSV tried out."""

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
ROWS = 1_000_000
MIB = 1024.0
"""`ru_maxrss` counts KiB on Linux."""

# Runs the program in a child and tells the child's own peak, which no parent's memory blurs.
_PEAK = """
import os, resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, code)
"""


def run() -> list[Row]:
    """Start-up against an empty interpreter; the dry run against a bare read of the same rows."""
    with tempfile.TemporaryDirectory() as folder:
        return [_start_up(Path(folder)), *_dry_run(Path(folder))]


def _environ(folder: Path) -> dict[str, str]:
    """With compiled modules kept, as an installation has them, wherever this checkout may be written."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(folder / "compiled"), "HOME": str(folder)}


def _start_up(folder: Path) -> Row:
    empty = [sys.executable, "-c", "pass"]
    helping = [sys.executable, "-P", "-m", "outreach_ops", "--help"]
    environ = _environ(folder)
    _seconds(helping, environ)  # compiles
    pairs = [(_seconds(empty, environ), _seconds(helping, environ)) for _ in range(RUNS)]
    ratio = statistics.median(h for _, h in pairs) / statistics.median(e for e, _ in pairs)
    return ("outreach --help", ratio, "× python -c pass", "under 6", ratio < 6)


def _seconds(command: list[str], environ: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, cwd=ROOT, env=environ, check=True, capture_output=True)
    return time.perf_counter() - began


def _dry_run(folder: Path) -> list[Row]:
    path = folder / "million.csv"
    with path.open("w") as file:
        file.write("Email,First Name,Last Name,Company,Job Title\n")
        file.writelines(f"p{i}@firm{i % 9973}.example.com,Ann {i},Müller,Firm {i},CTO\n" for i in range(ROWS))
    reading = f"import csv; [0 for _ in csv.reader(open({str(path)!r}, newline=''))]"
    environ = _environ(folder)
    baseline = _seconds([sys.executable, "-c", reading], environ)
    began = time.perf_counter()
    trial = [sys.executable, "-P", "-m", "outreach_ops", "import", str(path), "--to", "x", "--dry-run"]
    result = subprocess.run(
        [sys.executable, "-c", _PEAK, *trial],
        cwd=ROOT,
        env=environ,
        check=True,
        capture_output=True,
        text=True,
    )
    ratio = (time.perf_counter() - began) / baseline
    peak, code = map(int, result.stdout.split())
    memory = peak / MIB
    return [
        ("dry run of a million rows, memory", memory, "MiB", "under 100", memory < 100 and code == 0),
        ("dry run of a million rows, time", ratio, "× csv.reader alone", "under 15", ratio < 15),
    ]
