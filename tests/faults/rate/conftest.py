"""A service without its own limit, and a database of either engine for the budget."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy.engine import URL, make_url

from tests.client.scripted_server import Answer, ScriptedServer, open_scripted_server


@pytest.fixture(autouse=True)
def temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of the test's own, also for the processes it starts."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> URL:
    if request.param == "sqlite":
        return make_url(f"sqlite:///{tmp_path / 'budget.db'}")
    return make_url(request.getfixturevalue("postgresql")).set(drivername="postgresql+psycopg")


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with open_scripted_server() as opened:
        opened.play = lambda _: Answer(body=[])
        yield opened
