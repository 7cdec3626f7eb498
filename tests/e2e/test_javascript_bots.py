"""Bots on Bolt for JavaScript, and their tests in JavaScript, against the stand-in: docs/examples/javascript."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import ROOT

pytestmark = pytest.mark.e2e
EXAMPLES = ROOT / "docs" / "examples" / "javascript"


def test_five_bots_in_javascript_pass_their_own_tests(tmp_path: Path) -> None:
    """Needs node and npm, which .ci/run installs, and downloads what the lock pins by hash."""
    folder = tmp_path / "javascript"
    shutil.copytree(EXAMPLES, folder, ignore=shutil.ignore_patterns("node_modules"))
    npm = subprocess.run(
        ["npm", "ci", "--no-audit", "--no-fund"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert npm.returncode == 0, npm.stderr
    environ = {**os.environ, "OUTREACH": str(Path(sys.executable).with_name("outreach"))}
    ran = subprocess.run(
        ["npm", "test"], cwd=folder, env=environ, capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 0, ran.stdout
    assert re.search(r"^. pass 5$", ran.stdout, re.MULTILINE), ran.stdout


@pytest.mark.lint
def test_the_lock_of_the_examples_has_hashes_and_no_address() -> None:
    lock = (EXAMPLES / "package-lock.json").read_text()
    assert lock.count('"integrity": "sha512-') > 50
    assert not re.search(r'"resolved"', lock)
