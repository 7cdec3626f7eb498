"""The container of the sandbox: its command starts both stand-ins, and its health check asks them."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.conftest import ROOT
from tests.kit.processes import running

pytestmark = pytest.mark.e2e
OUTREACH = str(Path(sys.executable).with_name("outreach"))


@pytest.fixture
def image() -> str:
    """The container file, with ports that are free here."""
    text = (ROOT / "deploy/container/sandbox.Containerfile").read_text()
    with ExitStack() as stack:
        for port in ("8000", "8001"):
            free = stack.enter_context(socket.socket())
            free.bind(("127.0.0.1", 0))
            text = text.replace(port, str(free.getsockname()[1]))
    return text


def test_the_health_check_passes_while_both_answer(image: str, tmp_path: Path) -> None:
    health, command = (json.loads(words) for words in re.findall(r"CMD (\[.*\])$", image, re.MULTILINE))
    check = [sys.executable, *health[1:]]
    assert subprocess.run(check, capture_output=True, check=False).returncode == 1
    environ = {"OUTREACH_STATE_DIR": str(tmp_path / "state"), "HOME": str(tmp_path)}
    with running([OUTREACH, *command], cwd=tmp_path, env=environ, stdout=subprocess.PIPE) as sandbox:
        assert sandbox.stdout
        announced = json.loads(sandbox.stdout.readline())
        assert {"base_url", "api_keys", "slack_api_url", "slack_control_url"} <= set(announced)
        checked = subprocess.run(check, capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stderr
