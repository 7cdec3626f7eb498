"""The program that changes the product finds what tests don't notice, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import mutants

pytestmark = pytest.mark.lint

TOY = '''
"""A docstring with a number: 3."""

__all__ = ["limit", "unseen"]


def limit(count: int = 0) -> bool:
    """Whether 5 is reached."""
    return count >= 5


def unseen(count: int) -> bool:
    log.warning("over %s", 7)
    return count < 9
'''
TESTS = """
from toy import limit


def test_the_limit_is_five():
    assert not limit(4)
    assert limit(5)
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # The toy's tests need no plugin but xdist, and all of them take a second to load in each of a dozen processes.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "xdist.plugin")
    (tmp_path / "toy.py").write_text(TOY)
    (tmp_path / "test_toy.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    return tmp_path


def test_texts_docstrings_annotations_and_log_lines_are_never_changed() -> None:
    found = [str(mutant) for mutant in mutants.mutants_of("toy.py", TOY.encode())]
    assert found == [
        "toy.py:7: 0 → 1",
        "toy.py:9: return count >= 5 → return None",
        "toy.py:9: count >= 5 → (count) < (5)",
        "toy.py:9: 5 → 6",
        "toy.py:14: return count < 9 → return None",
        "toy.py:14: count < 9 → (count) >= (9)",
        "toy.py:14: 9 → 10",
    ]


def test_a_change_that_a_test_notices_is_killed_and_others_survive(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (root / "toy.py").read_bytes()
    words = ["--paths", "toy.py", "--sample", "2", "--tests", "test_toy.py"]
    assert mutants.main(words, root=root) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[1] for line in lines if line.startswith("survives")] == ["14"]
    assert lines[-1] == "1 of 2 noticed"
    # Changed is what a process compiles: who ends the run in the middle keeps what they had.
    assert (root / "toy.py").read_bytes() == before


def test_tests_that_fail_anyway_prove_nothing(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "test_toy.py").write_text("def test_no():\n    assert False\n")
    words = ["--paths", "toy.py", "--tests", "test_toy.py"]
    assert mutants.main(words, root=root) == 2
    assert "fail without any change" in capsys.readouterr().err
