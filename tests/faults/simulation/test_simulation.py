"""Seeds of the simulation, the proof that a seed replays, and the proof that missing safeguards are noticed.

`SEED=17 pytest -k test_one_seed -s tests/faults/simulation` runs one seed and prints all of it; `PLAN=guardrails` chooses a plan.
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

ROOT = Path(__file__).parents[3]
ONE = int(os.environ.get("SEED", "1"))
SEEDS = 100
"""Of `make test-e2e`."""
SOAK = int(os.environ.get("OUTREACH_SOAK_SEEDS", "10000"))
AT_ONCE = 50
"""Seeds of one process: what its dead bots leave stays in memory until it ends."""
NOTICED_WITHIN = 200
"""Seeds after which a missing safeguard must have been noticed."""
PLANS = {"timer-token": "pauses", "sequence-lock": "crowd"}
"""Of safeguards that deliveries don't need."""
FIRST = {"sequence-lock": 131}
"""Where the search begins for a safeguard whose absence few seeds notice: it was noticed soon after this one."""


def simulate(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run seeds in a process of their own, whose clock is not the test's; sets have the same order in each."""
    command = [sys.executable, "-m", "tests.faults.simulation", *map(str, arguments)]
    environ = {**os.environ, "PYTHONHASHSEED": "0"}
    return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)


def failures(ran: subprocess.CompletedProcess[str], *, plan: str = "") -> str:
    """The lines of the seeds that failed, and how to see what happened."""
    failed = [line for line in ran.stdout.splitlines() if " FAILED " in line]
    if not failed and ran.returncode:
        return ran.stdout + ran.stderr
    again = [
        f"{f'PLAN={plan} ' if plan else ''}SEED={line.split()[1]} pytest -k test_one_seed -s tests/faults/simulation"
        for line in failed
    ]
    return "\n".join([*failed, *again])


def fingerprints(ran: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """The digest of what happened, by seed."""
    return dict(re.findall(r"^seed (\d+) ([0-9a-f]{16}) ", ran.stdout, flags=re.MULTILINE))


def test_one_seed() -> None:
    plan = ["--plan", os.environ["PLAN"]] if "PLAN" in os.environ else []
    ran = simulate(ONE, *plan, *(["--trace"] if "SEED" in os.environ else []))
    print(ran.stdout)  # noqa: T201 # the log of the run
    assert not ran.returncode, failures(ran)


@pytest.mark.e2e
@pytest.mark.timeout(900)
@pytest.mark.parametrize("first", range(1, SEEDS + 1, AT_ONCE))
def test_what_was_promised_holds(first: int) -> None:
    ran = simulate(first, first + AT_ONCE - 1)
    assert not ran.returncode, failures(ran)


@pytest.mark.e2e
@pytest.mark.timeout(600)
def test_guardrails_act_once_while_bots_die() -> None:
    ran = simulate(1, 5, "--plan", "guardrails")
    assert not ran.returncode, failures(ran, plan="guardrails")
    assert ", 1 by guardrails)" in ran.stdout


@pytest.mark.e2e
def test_a_seed_replays_exactly_alone_and_after_others() -> None:
    together = fingerprints(simulate(1, 4))
    assert len(set(together.values())) == 4
    assert {**fingerprints(simulate(4)), **fingerprints(simulate(2))} == {
        seed: together[seed] for seed in ("2", "4")
    }


@pytest.mark.e2e
@pytest.mark.timeout(600)
@pytest.mark.parametrize("safeguard", ABLATIONS)
def test_a_missing_safeguard_is_noticed(safeguard: str) -> None:
    plan = PLANS.get(safeguard, "deliveries")
    first = FIRST.get(safeguard, 1)
    last = first + NOTICED_WITHIN - 1
    ran = simulate(first, last, "--plan", plan, "--without", safeguard, "--until-failure")
    assert " FAILED Violation: " in ran.stdout, ran.stdout + ran.stderr


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_ten_thousand_seeds() -> None:
    firsts = range(1_000_001, 1_000_001 + SOAK, AT_ONCE)
    failed = ""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for ran in pool.map(lambda first: simulate(first, first + AT_ONCE - 1), firsts):
            print(ran.stdout.splitlines()[-1:], flush=True)  # noqa: T201 # how far it is
            failed += failures(ran) if ran.returncode else ""
    assert not failed, failed
