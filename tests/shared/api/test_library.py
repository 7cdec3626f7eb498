"""The client alone: what it loads, what it exports, and that its page of examples runs."""

from __future__ import annotations

import asyncio
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal, get_origin

import pytest

from sandbox.service import Service
from shared import api
from shared.api import OutreachClient

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "client.md").read_text()
# Rich is not among them: httpx loads it for its own command, where it is installed.
FOREIGN = (
    "bot", "cli", "tui", "sandbox", "slack_bolt", "slack_sdk", "textual", "starlette", "fastapi", "uvicorn",
    "sqlalchemy", "pydantic", "apscheduler", "psycopg", "aiohttp",
)  # fmt: skip


@pytest.mark.parametrize(
    "line", ["from shared.api import *", "from shared.storage.rate_budget import SharedBudget"]
)
def test_importing_it_loads_no_face_and_no_framework(line: str) -> None:
    program = f"import sys\n{line}\nprint(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    names = {name.partition(".")[0] for name in loaded.stdout.split()}
    assert ("httpx" in names) == ("*" in line)
    assert not names & set(FOREIGN)


def test_exports_exist_sorted_and_documented() -> None:
    assert list(api.__all__) == sorted(api.__all__)
    exported = {name: getattr(api, name) for name in api.__all__}
    aliases = {
        name for name, one in exported.items() if get_origin(one) is Literal
    }  # these have no docstring
    assert aliases == {"EventKind", "Grouping", "InboxStatus", "LeadStatus", "SequenceStatus"}
    undocumented = {name for name, one in exported.items() if not (one.__doc__ or "").strip()}
    assert undocumented <= aliases


def test_it_is_typed() -> None:
    assert (Path(api.__path__[0]) / "py.typed").is_file()


def blocks() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


def test_every_endpoint_has_an_example() -> None:
    methods = {
        name for name, _ in inspect.getmembers(OutreachClient, inspect.isfunction) if not name.startswith("_")
    }
    assert [name for name in sorted(methods) if f"client.{name}(" not in PAGE] == []


@pytest.mark.e2e
async def test_the_examples_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, account: str
) -> None:
    namespace: dict[str, Any] = {"__name__": "examples"}
    for block in blocks():
        exec(compile(block, "docs/client.md", "exec"), namespace)
    examples = {name: made for name, made in namespace.items() if inspect.iscoroutinefunction(made)}
    blocking = namespace["without_an_event_loop"]
    assert len(examples) >= 10
    async with Service(database=account, speed=0) as service:
        monkeypatch.setenv("OUTREACH_BASE_URL", service.base_url)
        monkeypatch.setenv("OUTREACH_API_KEY", service.api_keys["acme"])
        await examples.pop("main")()
        await asyncio.to_thread(blocking)
        client_class = namespace["OutreachClient"]
        async with client_class(base_url=service.base_url, api_key=service.api_keys["acme"]) as client:
            for example in examples.values():
                await example(client)
    assert "data[].health_score: number" in capsys.readouterr().out
