"""The wheel of the client alone, in an environment that holds only what it names as dependencies."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import sys
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest

from sandbox.service import Service
from tests.e2e.conftest import ROOT
from tests.release import needed

pytestmark = pytest.mark.e2e

SCRIPT = """
import json, os, sys
import outreach_client
from outreach_client import NotFound, SyncOutreachClient

with SyncOutreachClient() as client:
    sequences = client.list_sequences()
    try:
        client.pause_sequence("sq_nobody")
    except NotFound as error:
        hint = error.hint
names = {module.partition(".")[0] for module in sys.modules}
print(json.dumps({
    "sequences": len(sequences), "hint": hint, "version": outreach_client.__version__,
    "loaded": sorted(names & {"shared", "bot", "pydantic", "slack_sdk", "textual"}),
}))
"""


def copy_distribution(name: str, into: Path) -> None:
    one = distribution(name)
    for file in one.files or ():
        if ".." not in file.parts and "__pycache__" not in file.parts:
            target = into / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(str(file.locate()), target)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("client")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
    package = ROOT / "packages" / "outreach-client"
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", home, package], check=True)
    (wheel,) = home.glob("outreach_client-*.whl")
    venv.create(home / "venv", with_pip=False)
    (packages,) = (home / "venv").glob("lib/*/site-packages")
    for name in needed("httpx"):
        copy_distribution(name, packages)
    python = home / "venv" / "bin" / "python"
    subprocess.run([*pip, "--python", python, "install", "--no-index", wheel], check=True)
    return python


async def test_a_script_runs_with_the_client_and_its_dependencies_alone(python: Path) -> None:
    async with Service(speed=0) as service:
        environ = {"OUTREACH_BASE_URL": service.base_url, "OUTREACH_API_KEY": service.api_keys["acme"]}
        ran = await run(python, SCRIPT, environ)
    result = json.loads(ran)
    assert result.pop("sequences") > 0
    assert result.pop("hint").startswith("Check the id")
    assert re.fullmatch(r"[0-9.]+", result.pop("version"))
    assert result == {"loaded": []}


def test_the_environment_holds_eight_packages_at_most_and_little_of_them(python: Path) -> None:
    (packages,) = python.parents[1].glob("lib/*/site-packages")
    names = {path.name.partition("-")[0].lower() for path in packages.glob("*.dist-info")}
    allowed = {"anyio", "certifi", "h11", "httpcore", "httpx", "idna", "outreach_client", "typing_extensions"}
    assert names <= allowed
    size = sum(path.stat().st_size for path in packages.rglob("*.py"))
    assert size < 4_000_000


def test_a_source_distribution_builds_the_same_wheel(tmp_path: Path) -> None:
    build = (sys.executable, "-m", "hatchling", "build", "-d", str(tmp_path))
    package = ROOT / "packages" / "outreach-client"
    subprocess.run([*build, "-t", "sdist", "-t", "wheel"], cwd=package, check=True, capture_output=True)
    (archive,), (wheel,) = tmp_path.glob("*.tar.gz"), tmp_path.glob("*.whl")
    shutil.unpack_archive(archive, tmp_path / "source")
    (source,) = (tmp_path / "source").iterdir()
    again = tmp_path / "again"
    again.mkdir()
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(again), "-t", "wheel"],
        cwd=source,
        check=True,
        capture_output=True,
    )
    assert (again / wheel.name).read_bytes() == wheel.read_bytes()


async def run(python: Path, script: str, environ: dict[str, str]) -> str:
    process = await asyncio.create_subprocess_exec(
        python, "-c", script, env=environ, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    output, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return output.decode()
