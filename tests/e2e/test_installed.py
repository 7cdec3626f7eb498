"""The wheel, installed into its own environment and run in a folder whose packages have the program's names."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from shared.build import read_commit
from tests.e2e.conftest import ROOT, announced, headless_demo
from tests.kit.processes import running

CLIENT_SCRIPT = """
import asyncio, os
from outreach_ops import NotFound, OutreachClient

async def main():
    async with OutreachClient(
        base_url=os.environ["OUTREACH_BASE_URL"], api_key=os.environ["OUTREACH_API_KEY"]
    ) as client:
        print(len(await client.list_sequences()))
        try:
            await client.pause_sequence("sq_nobody")
        except NotFound:
            print("not found")

asyncio.run(main())
"""


@dataclass(frozen=True)
class Installed:
    """An environment that holds the wheel, and the hostile folder to run it in."""

    scripts: Path
    folder: Path

    @property
    def outreach(self) -> str:
        return str(self.scripts / "outreach")

    def run(self, *command: str, **settings: str) -> subprocess.CompletedProcess[str]:
        environ = {**self.environ, **settings}
        return subprocess.run(
            command, cwd=self.folder, env=environ, capture_output=True, text=True, timeout=120, check=False
        )

    @property
    def environ(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("OUTREACH_", "SLACK_", "PYTHON"))}
        return {**kept, "OUTREACH_STATE_DIR": str(self.folder / "state")}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    home = tmp_path_factory.mktemp("installed")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
    subprocess.run(
        [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", home, ROOT], check=True
    )
    (wheel,) = home.glob("*.whl")
    venv.create(home / "venv", with_pip=False)
    scripts = home / "venv" / "bin"
    python = scripts / "python"
    subprocess.run([*pip, "--python", python, "install", "--no-deps", "--no-index", wheel], check=True)
    # The dependencies are the tests' own; a .pth within that folder, like the checkout's, is not followed.
    (own,) = (home / "venv").glob("lib/*/site-packages")
    (own / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    folder = home / "hostile"
    for name in ("bot", "cli", "sandbox", "shared", "tui"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(f"raise SystemExit('the {name} of this folder was run')")
    return Installed(scripts=scripts, folder=folder)


@pytest.fixture(scope="module")
def account(installed: Installed) -> Iterator[dict[str, str]]:
    """The settings of an account that the installed sandbox serves."""
    program, env = [installed.outreach], installed.environ
    with announced("sandbox", "--speed", "0", program=program, folder=installed.folder, env=env) as sandbox:
        yield {
            "OUTREACH_BASE_URL": sandbox.announced["base_url"],
            "OUTREACH_API_KEY": sandbox.announced["api_keys"]["acme"],
        }


def test_the_headless_demo_runs(installed: Installed) -> None:
    with headless_demo("--for", "1", program=(installed.outreach,), folder=installed.folder) as demo:
        commands = [process.cmdline() for process in demo.family]
        code, summary = demo.wait_for_exit()
    assert code == 0, summary
    assert all(command[1:4] == ["-P", "-m", "outreach_ops"] for command in commands)
    assert len(commands) == 2


def test_a_snapshot_of_the_dashboard_is_printed(installed: Installed, account: dict[str, str]) -> None:
    ran = installed.run(installed.outreach, "dashboard", "--once", **account)
    assert ran.returncode == 0, ran.stderr
    assert "healthy" in ran.stdout


async def test_a_browser_sees_the_dashboard(installed: Installed, account: dict[str, str]) -> None:
    with running(
        [installed.outreach, "dashboard", "--web", "--port", "0"],
        cwd=installed.folder,
        env={**installed.environ, **account},
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout
        line = await asyncio.to_thread(process.stdout.readline)
        address = next(word for word in line.split() if word.startswith("http"))
        async with asyncio.timeout(40), aiohttp.ClientSession() as browser:
            async with browser.get(address) as page:
                assert page.status == 200
            async with browser.ws_connect(f"{address}ws?width=160&height=48") as tab:
                await _until_shown(tab, b"healthy")


async def _until_shown(tab: aiohttp.ClientWebSocketResponse, words: bytes) -> None:
    shown = b""
    async for message in tab:
        shown += message.data if isinstance(message.data, bytes) else b""
        if words in shown:
            return
    pytest.fail(f"the viewer ended: {shown[-2000:]!r}")


def test_a_script_imports_the_client(installed: Installed, account: dict[str, str]) -> None:
    script = installed.folder / "script.py"
    script.write_text(CLIENT_SCRIPT)
    ran = installed.run(str(installed.scripts / "python"), str(script), **account)
    sequences, missing = ran.stdout.split("\n")[:2]
    assert (int(sequences) > 0, missing) == (True, "not found"), ran.stderr


def test_help_runs_in_a_hostile_folder(installed: Installed) -> None:
    for words in (("--help",), ("--version",), ("help", "pause"), ("bot", "--help")):
        ran = installed.run(installed.outreach, *words)
        assert ran.returncode == 0, ran.stderr


def test_an_installed_program_knows_its_commit(installed: Installed) -> None:
    result = installed.run(installed.outreach, "--version").stdout
    assert f"(commit {read_commit(ROOT)}, schema " in result
