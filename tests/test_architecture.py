"""The rules of this project that no linter knows."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.lint
ROOT = Path(__file__).parents[1]
ROOMS = ("bot", "cli", "sandbox", "shared", "tui")
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
PURE = next(contract["source_modules"] for contract in CONTRACTS if contract["name"].startswith("Pure"))
"""The modules that decide; the import contracts keep I/O from them, and the test below the clock."""


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_a_lock_pins_every_package_with_hashes_and_names_no_address(lock: str) -> None:
    text = (ROOT / lock).read_text()
    pins = re.findall(r"^[a-z0-9._-]+==[^\s]+.*?(?=^[a-z]|\Z)", text, flags=re.MULTILINE | re.DOTALL)
    assert len(pins) > 40
    assert all("--hash=sha256:" in pin for pin in pins)
    # An address would have everybody ask the mirror of who made the file.
    assert not re.search(r"https?:|index|find-links", text)


def test_the_development_lock_repeats_the_pins_of_what_runs() -> None:
    def pins(lock: str) -> set[str]:
        return set(re.findall(r"^[a-z0-9._-]+==[^\s;]+", (ROOT / lock).read_text(), flags=re.MULTILINE))

    assert pins("requirements.lock") <= pins("requirements-dev.lock")


def test_no_pure_module_reads_a_clock() -> None:
    impure = {"datetime.now", "datetime.utcnow", "date.today", "open", "print", "input", "uuid.uuid4"}
    assert [(module, call) for module in PURE for call in sorted(calls_of(module) & impure)] == []


def calls_of(module: str) -> set[str]:
    path = ROOT / module.replace(".", "/")
    sources = sorted(path.glob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
    nodes = (node for source in sources for node in ast.walk(ast.parse(source.read_text())))
    return {ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)}


def test_the_top_level_has_only_known_entries() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:  # an unpacked archive has no history to ask
        names = {path.name for path in ROOT.iterdir() if not path.name.startswith(".")}
    else:
        names = {line.split("/")[0] for line in listed.stdout.splitlines()}
    allowed = {
        *ROOMS,
        "outreach_ops",
        "hatch_build.py",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "deploy",
        "tests",
        "tools",
        "docs",
        ".ci",
        ".github",
        ".slack",
        ".gitignore",
        "Makefile",
        "LICENSE",
        "CHANGELOG.md",
        "README.md",
    }
    allowed |= {"pyproject.toml", "manifest.yml", "requirements.lock", "requirements-dev.lock"}
    assert {name for name in names if name not in allowed and not name.endswith("_cache")} == set()


def test_every_path_of_tests_that_the_makefile_names_exists() -> None:
    paths = re.findall(r"tests/[a-z_./]+(?=[\s$])", (ROOT / "Makefile").read_text())
    assert len(paths) > 5
    # Git keeps no empty folder, and a fresh clone has none.
    assert [
        path for path in paths if not (ROOT / path).is_file() and not any((ROOT / path).glob("**/*.py"))
    ] == []
