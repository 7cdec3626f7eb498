"""What a wheel holds: the program under one name, with every file that it reads at run time."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

import outreach_ops
from shared.build import read_commit

ROOT = Path(__file__).parents[1]
PROGRAM = ("bot", "cli", "sandbox", "shared", "tui", "manifest.yml")


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> frozenset[str]:
    """The names of a standard wheel's files."""
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path_factory.mktemp("wheel")))
    with ZipFile(wheel) as archive:
        return frozenset(archive.namelist())


def files(*folders: str) -> list[str]:
    found = (path for folder in folders for path in [ROOT / folder, *(ROOT / folder).rglob("*")])
    return [
        str(path.relative_to(ROOT)) for path in found if path.is_file() and "__pycache__" not in path.parts
    ]


@pytest.mark.lint
def test_a_wheel_owns_one_import_name(packed: frozenset[str]) -> None:
    roots = {name.partition("/")[0] for name in packed}
    assert {root for root in roots if not root.endswith(".dist-info")} == {"outreach_ops"}


@pytest.mark.lint
def test_a_wheel_holds_every_module_page_style_scenario_and_migration(packed: frozenset[str]) -> None:
    wanted = files(*PROGRAM)
    assert {f"outreach_ops/{file}" for file in wanted} - packed == set()
    assert {Path(file).suffix for file in wanted} >= {
        ".py",
        ".html",
        ".js",
        ".css",
        ".tcss",
        ".toml",
        ".mako",
    }


@pytest.mark.lint
def test_a_wheel_records_the_commit_it_was_built_from(packed: frozenset[str]) -> None:
    assert "outreach_ops/commit.txt" in packed


def test_the_commit_comes_from_the_build_or_from_git(tmp_path: Path) -> None:
    assert read_commit(tmp_path) == ""
    (tmp_path / ".git").mkdir()
    assert read_commit(tmp_path) == ""
    (tmp_path / "commit.txt").write_text("0123456789ab\n")
    assert read_commit(tmp_path) == "0123456789ab"
    assert re.fullmatch(r"[0-9a-f]{12}", read_commit(ROOT))


HAPPEN_TO_BE = {
    "greenlet",
    "httpx2",
    "httpcore2",
    "h2",
    "hpack",
    "hyperframe",
    "truststore",
    "python-multipart",
}
"""What libraries load where it is, as among the tests' packages, for what the program doesn't do: dnspython for DNS over
HTTPS, SQLAlchemy for asyncio, Starlette for forms."""


@pytest.mark.e2e
def test_what_the_program_imports_is_in_the_lock_that_installs_it() -> None:
    """The tests' own environment holds more, which hides what is missing."""
    listing = """
import importlib.metadata, sys
import bot.server, cli.main, cli.demo, sandbox.service.service, sandbox.slack.server, tui.app.run, tui.entrypoints.web
owners = {
    str(found.locate_file(file)): found.name for found in importlib.metadata.distributions() for file in found.files or ()
}
print(*{owners[file] for module in list(sys.modules.values()) if (file := getattr(module, "__file__", None)) in owners})
"""
    done = subprocess.run(
        [sys.executable, "-c", listing], cwd=ROOT, capture_output=True, text=True, check=True
    )
    locked = set(re.findall(r"^([\w.-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE))
    imported = {re.sub(r"[-_.]+", "-", name).lower() for name in done.stdout.split()}
    assert len(imported) > 30
    assert imported - locked - HAPPEN_TO_BE <= {"outreach-ops", "setuptools"}


@pytest.mark.lint
def test_a_source_distribution_can_build_the_wheel(tmp_path: Path) -> None:
    (archive,) = SdistBuilder(str(ROOT)).build(directory=str(tmp_path))
    with tarfile.open(archive) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert names >= {
        "hatch_build.py",
        "commit.txt",
        "pyproject.toml",
        "LICENSE",
        "README.md",
        *files(*PROGRAM),
    }


def test_a_script_gets_the_client_whatever_its_own_packages_are_named(tmp_path: Path) -> None:
    # The product's rooms have common names, which a script's own folder may have too.
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "__init__.py").write_text("MINE = True")
    code = """
import sys
import outreach_ops
assert "httpx" not in sys.modules
from outreach_ops import NotFound, OutreachClient
import shared
print(OutreachClient.__module__, issubclass(NotFound, Exception), shared.MINE, hasattr(outreach_ops, "nothing"))
"""
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "outreach_ops.shared.api.client True True False\n"


def test_windows_gets_a_hint_about_wsl(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert outreach_ops.main() == 2
    output = capsys.readouterr()
    assert (output.out, "WSL" in output.err.splitlines()[0]) == ("", True)
