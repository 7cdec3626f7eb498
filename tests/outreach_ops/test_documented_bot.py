"""The example of docs/testing-your-bot.md, in its own project, with the plugin as anybody has it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = re.search(r"```python\n(.*?)```", (ROOT / "docs/testing-your-bot.md").read_text("utf-8"), re.DOTALL)


def run_pytest(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "pytest.ini").write_text("[pytest]\n")
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options)
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, check=False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    assert EXAMPLE
    (tmp_path / "test_bot.py").write_text(EXAMPLE[1])
    # The names of this program's packages belong to the project under test.
    (tmp_path / "bot.py").write_text("")
    (tmp_path / "shared.py").write_text("")
    return tmp_path


@pytest.mark.e2e
def test_the_documented_example_passes(project: Path) -> None:
    ran = run_pytest(project)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "1 passed" in ran.stdout


@pytest.mark.e2e
def test_a_failure_shows_what_happened(project: Path) -> None:
    file = project / "test_bot.py"
    file.write_text(
        file.read_text().replace('"Claimed by @ben"', '"Taken", timeout=0.2'.replace(", timeout=0.2", ""))
    )
    file.write_text(
        file.read_text().replace('slack.channel("sales"))', 'slack.channel("sales"), timeout=0.2)')
    )
    ran = run_pytest(project)
    assert ran.returncode == 1
    assert "No message from outreach with 'Taken' in #sales within 0.2 s." in ran.stdout, ran.stdout
    assert "ann > command /deploy now sales" in ran.stdout
    assert "Claimed by @ben" in ran.stdout


@pytest.mark.e2e
def test_workers_have_a_workspace_each(project: Path) -> None:
    source = (project / "test_bot.py").read_text()
    (project / "test_again.py").write_text(source)
    ran = run_pytest(project, "-n", "2", "--dist", "each")
    assert "4 passed" in ran.stdout, ran.stdout + ran.stderr


def test_the_plugin_costs_nothing_until_it_is_used() -> None:
    code = (
        "import sys, pytest; before = set(sys.modules); import outreach_ops.pytest_plugin; "
        "print(*sorted(set(sys.modules) - before))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["outreach_ops", "outreach_ops.pytest_plugin"]
