"""`make release`: what it writes, and that a second run writes the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests import audit
from tests.e2e.conftest import ROOT

pytestmark = pytest.mark.e2e


def release(folder: Path) -> str:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.release", folder], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return ran.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release") / "first"
    assert release(folder).count("twice the same") == 2
    return folder


def test_a_release_holds_the_wheel_components_licenses_and_lock(folder: Path) -> None:
    assert {file.name for file in folder.iterdir()} == {
        "SHA256SUMS", "licenses.txt", "outreach-ops-1.0.0.cdx.json", "requirements.lock",
        "outreach_ops-1.0.0-py3-none-any.whl",
    }  # fmt: skip
    components = json.loads((folder / "outreach-ops-1.0.0.cdx.json").read_text())
    assert {component["name"] for component in components["components"]} == set(audit.pinned())
    assert all(component["purl"].startswith("pkg:pypi/") for component in components["components"])
    client = json.loads((folder / "outreach-client-1.0.0.cdx.json").read_text())
    assert client["metadata"]["component"]["name"] == "outreach-client"
    names = {component["name"] for component in client["components"]}
    assert {"httpx", "httpcore", "anyio", "certifi", "h11", "idna"} <= names <= set(audit.pinned())
    assert len(names) <= 7
    licenses = (folder / "licenses.txt").read_text()
    assert all(f"{name} {version}: " in licenses for name, version in audit.pinned().items())
    assert "Permission is hereby granted" in licenses


def test_the_checksums_are_those_of_the_files(folder: Path) -> None:
    ran = subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.count(": OK") == len(list(folder.iterdir())) - 1


def test_another_run_writes_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    release(tmp_path / "second")
    assert (tmp_path / "second" / "SHA256SUMS").read_text() == (folder / "SHA256SUMS").read_text()


def test_nothing_compiled_and_no_path_of_this_machine_is_in_a_wheel(folder: Path) -> None:
    for wheel in folder.glob("*.whl"):
        with ZipFile(wheel) as archive:
            assert [name for name in archive.namelist() if name.endswith(".pyc") or "/home/" in name] == []
            assert len({info.date_time for info in archive.infolist()}) == 1
