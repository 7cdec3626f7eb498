"""The client alone: what it loads, what it exports, and that its page of examples runs."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sandbox.service import Service

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "client.md").read_text()
# Rich is not among them: httpx loads it for its own command, where it is installed.
FOREIGN = (
    "bot", "cli", "tui", "sandbox", "slack_bolt", "slack_sdk", "textual", "starlette", "uvicorn",
    "sqlalchemy", "psycopg", "aiohttp",
)  # fmt: skip


def printed(program: str) -> list[str]:
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return ran.stdout.split()


@pytest.mark.parametrize("line", ["from shared.api import *", "from shared.api.pace import Priority"])
def test_importing_it_loads_no_face_and_no_framework(line: str) -> None:
    names = {name.partition(".")[0] for name in printed(f"import sys\n{line}\nprint(*sys.modules)")}
    assert ("httpx" in names) == ("*" in line)
    assert not names & set(FOREIGN)


def blocks() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.e2e
async def test_the_examples_run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    namespace: dict[str, Any] = {"__name__": "examples"}
    async with Service(speed=0) as service:
        monkeypatch.setenv("OUTREACH_BASE_URL", service.base_url)
        monkeypatch.setenv("OUTREACH_API_KEY", service.api_keys["acme"])
        for block in blocks():
            # As a notebook does; without `await` in the block there is nothing to wait for.
            code = compile(block, "docs/client.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            if inspect.isawaitable(waiting := eval(code, namespace)):
                await waiting
        examples = {name: made for name, made in namespace.items() if inspect.iscoroutinefunction(made)}
        assert len(examples) >= 12
        async with namespace["OutreachClient"]() as client:
            await examples.pop("main")()
            for example in examples.values():
                await example(client)
    printed = capsys.readouterr().out
    assert "no such sequence in this workspace" in printed
