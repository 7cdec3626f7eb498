"""The sandbox as its pages show it: the session in a shell, and the container with its health check."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.conftest import ROOT, Announced, announced
from tests.kit.docs_blocks import blocks
from tests.kit.ports import free_port
from tests.kit.processes import running

RECEIVER = """
import hashlib, hmac, http.server

class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        expected = hmac.new(b"SECRET", body, hashlib.sha256).hexdigest()
        self.send_response(200 if self.headers["X-Service-Signature"] == expected else 401)
        self.end_headers()
        print(body.decode())

http.server.HTTPServer(("127.0.0.1", PORT), Hook).serve_forever()
"""


def typed(text: str) -> list[str]:
    """List what stands behind the prompts, without what starts the sandbox."""
    return [
        line[2:] for line in text.splitlines() if line.startswith("$ ") and "outreach sandbox" not in line
    ]


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Announced]:
    with announced("sandbox", "--port", "0", "--slack-port", "0", "--speed", "60", folder=tmp_path) as opened:
        yield opened


def test_the_session_of_the_page_ends_with_a_signed_delivery(sandbox: Announced) -> None:
    page = [block for block in blocks("console") if block.page.name == "sandbox.md"]
    lines = [line for block in page for line in typed(block.text)]
    port = free_port()
    filled = {
        "http://127.0.0.1:8000": sandbox.announced["base_url"].removesuffix("/v1"),
        "live_acme_…": sandbox.announced["api_keys"]["acme"],
        "127.0.0.1:9000": f"127.0.0.1:{port}",
    }
    ran = []
    setup = [line for line in lines if line.startswith(("V1=", "api()"))]
    receiving: subprocess.Popen[str] | None = None
    with ExitStack() as started:
        for line in (line for line in lines if line not in setup):
            script = "\n".join([*setup, line])
            for shown, real in filled.items():
                script = script.replace(shown, real)
            done = subprocess.run(
                ["bash", "-ec", script], capture_output=True, text=True, check=True, timeout=30
            )
            answer = json.loads(done.stdout or "{}")
            assert "error" not in answer, (line, answer)
            ran.append(line)
            for kind in ("sq", "ld"):
                if f"{kind}_…" not in filled and (found := re.search(rf'"({kind}_\w+)"', done.stdout)):
                    filled[f"{kind}_…"] = found[1]
            if "secret" in answer:
                program = RECEIVER.replace("SECRET", answer["secret"]).replace("PORT", str(port))
                receiving = started.enter_context(
                    running([sys.executable, "-uc", program], stdout=subprocess.PIPE)
                )
        assert ran[-1].endswith("/control/events")
        assert receiving is not None
        assert receiving.stdout
        assert json.loads(receiving.stdout.readline())["event"] == "reply.interested"


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
    with announced(*command, program=[OUTREACH], folder=tmp_path, env=environ) as sandbox:
        assert {"base_url", "api_keys", "slack_api_url", "slack_control_url"} <= set(sandbox.announced)
        checked = subprocess.run(check, capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stderr
