"""An hour of alerts with two bots, in the simulation: what it takes of real time."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable

from tools.bench.__main__ import Row

SEED = 1
SECONDS = 30.0


def run() -> Iterable[Row]:
    command = [sys.executable, "-m", "tests.simulation", str(SEED), "--plan", "hour"]
    environ = {**os.environ, "PYTHONHASHSEED": "0"}
    ran = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    found = re.search(r" ok \((\d+) s in ([\d.]+) s,", ran.stdout)
    if found is None:
        raise RuntimeError(ran.stdout + ran.stderr)
    spent = float(found[2])
    name = f"simulation: {int(found[1]) / 3600:.1f} h of alerts, two bots, one seed, processor time"
    yield name, spent, "s", f"under {SECONDS:.0f} s", spent < SECONDS
