"""Seeds of the simulation, the proof that a seed replays, and the proof that missing safeguards are noticed.

`python -m tests.faults.simulation 17 --trace` runs one seed and prints all of it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.faults.simulation.ablations import ABLATIONS

pytestmark = pytest.mark.e2e  # a seed takes half a second
ROOT = Path(__file__).parents[3]
FIRST = int(os.environ.get("SEED", "1"))
"""The seed of a commit where `.ci/run` tests it, so that each commit tries others."""
FEW = 12
SOAK = int(os.environ.get("OUTREACH_SOAK_SEEDS", "10000"))
AT_ONCE = 50
"""Seeds of one process: what its dead bots leave stays in memory until it ends."""
NOTICED_WITHIN = 200
"""Seeds after which a missing safeguard must have been noticed."""
PLANS = {"timer-token": "pauses", "sequence-lock": "crowd"}
"""Of safeguards that deliveries don't need."""
NOTICED = {"read-back": 5, "lease": 3, "renewal": 3, "timer-token": 2, "sequence-lock": 19}
"""The seeds at which they were noticed last, where the search begins: a seed costs a second or two."""


def simulate(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run seeds in a process of their own, whose clock is not the test's; sets have the same order in each."""
    command = [sys.executable, "-m", "tests.faults.simulation", *map(str, arguments)]
    environ = {**os.environ, "PYTHONHASHSEED": "0"}
    return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)


def failures(ran: subprocess.CompletedProcess[str]) -> str:
    """The lines of the seeds that failed, or what ended the run before its last."""
    failed = [line for line in ran.stdout.splitlines() if " FAILED " in line]
    return "\n".join(failed) if failed or not ran.returncode else ran.stdout + ran.stderr


def fingerprints(ran: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """The digest of what happened, by seed."""
    return dict(re.findall(r"^seed (\d+) ([0-9a-f]{16}) ", ran.stdout, flags=re.MULTILINE))


def test_what_was_promised_holds() -> None:
    assert failures(simulate(FIRST, FIRST + FEW - 1)) == ""


def test_guardrails_act_once_while_bots_die() -> None:
    ran = simulate(1, 2, "--plan", "guardrails")
    assert failures(ran) == ""
    assert ", 1 by guardrails)" in ran.stdout


def test_a_seed_replays_exactly_alone_and_after_others() -> None:
    together = fingerprints(simulate(1, 2))
    assert len(set(together.values())) == 2
    assert fingerprints(simulate(2)) == {"2": together["2"]}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("safeguard", ABLATIONS)
def test_a_missing_safeguard_is_noticed(safeguard: str) -> None:
    plan = PLANS.get(safeguard, "deliveries")
    first = NOTICED.get(safeguard, 1)
    last = first + NOTICED_WITHIN - 1
    ran = simulate(first, last, "--plan", plan, "--without", safeguard, "--until-failure")
    assert " FAILED Violation: " in ran.stdout, ran.stdout + ran.stderr


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_ten_thousand_seeds() -> None:
    firsts = range(1_000_001, 1_000_001 + SOAK, AT_ONCE)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        ran = pool.map(lambda first: simulate(first, first + AT_ONCE - 1), firsts)
        assert "".join(map(failures, ran)) == ""
