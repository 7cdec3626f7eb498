"""What becomes of a property that hangs, or whose failure shrinks slowly: it fails, and the tests after it run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

HURRIED = """
from hypothesis.internal.conjecture import engine
from tests import properties

pytest_plugins = ["tests.properties"]
engine.MAX_SHRINKING_SECONDS = properties.SHRINKING_SECONDS = 1
properties.AGAIN_SECONDS = 0.5
"""
PROPERTIES = """
import asyncio, time
from hypothesis import given, strategies as st

@given(st.integers(0, 10**9))
def test_hangs(number):
    if number > 5:
        time.sleep(1000)

@given(st.integers(0, 10**9))
async def test_hangs_in_an_event_loop(number):
    if number > 5:
        asyncio.get_running_loop().call_soon(time.sleep, 1000)  # its interrupt is logged and lost
        await asyncio.sleep(1000)

@given(st.lists(st.integers(0, 10**9)))
def test_shrinks_slowly(numbers):
    if sum(numbers) > 1000:
        time.sleep(0.05)
        raise ValueError("the sum")

def test_last():
    pass
"""


def run_pytest(folder: Path, tests: str, *options: str) -> str:
    (folder / "conftest.py").write_text(HURRIED)
    (folder / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\ntimeout = 2\n")
    (folder / "test_it.py").write_text(tests)
    command = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:schemathesis", *options)
    ran = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env={"PYTHONPATH": str(ROOT)}
    )
    return ran.stdout


@pytest.mark.e2e
def test_a_property_that_hangs_fails_with_its_example_and_the_next_test_runs(tmp_path: Path) -> None:
    output = run_pytest(tmp_path, PROPERTIES, "-n", "1")
    assert "3 failed, 1 passed" in output, output
    for name in ("test_hangs", "test_hangs_in_an_event_loop"):
        assert re.search(rf"test_it.py::{name} took longer than 3 s with {{'number': \d+}}", output), output
    assert re.search(r"Failing test case: test_shrinks_slowly\(\s+E\s+numbers=\[\d", output), output
