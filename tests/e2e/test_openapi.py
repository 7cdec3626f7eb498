"""The OpenAPI document is exact: schemathesis finds nothing on the whole API, and a generated client works."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.service import Service
from tests.e2e.conftest import START_SECONDS

LONG = ("advance", "count", "speed", "delay")
"""Dials that take minutes when they are turned far."""


@pytest.fixture(scope="module")
def running() -> Iterator[Service]:
    """The service in its own thread: schemathesis asks synchronously."""
    import threading

    service, ready = Service(speed=0), threading.Event()
    stop = list[Callable[[], Any]]()

    async def serve() -> None:
        async with service:
            service.guard.limited = False
            done = asyncio.Event()
            loop = asyncio.get_running_loop()
            stop.append(lambda: loop.call_soon_threadsafe(done.set))
            ready.set()
            await done.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="service-for-schemathesis")
    thread.start()
    assert ready.wait(START_SECONDS)
    yield service
    stop[0]()
    thread.join(30)


USE_GENERATED = """
import datetime as dt, sys
from service_client import AuthenticatedClient
from service_client.api.inboxes import list_inboxes
from service_client.api.leads import add_leads, list_leads, remove_lead
from service_client.api.sequences import change_sequence, list_sequences
from service_client.api.stats import read_stats
from service_client.api.webhooks import subscribe
from service_client.models import (
    Error, EventKind, Grouping, LeadStatus, NewLead, NewLeads, NewSubscription, SequenceChange, SequenceStatus,
)

with AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2]) as client:
    sequence = list_sequences.sync(client=client).data[0]
    change = SequenceChange(status=SequenceStatus.PAUSED)
    assert change_sequence.sync(sequence.id, client=client, body=change).status is SequenceStatus.PAUSED
    lead = NewLead(email="ada@engines.example", first_name="Ada")
    lead["plan"] = "pro"
    added = add_leads.sync(client=client, body=NewLeads(sequence_id=sequence.id, leads=[lead, lead]))
    assert (added.added, added.skipped[0].reason.value) == (1, "duplicate")
    page = list_leads.sync(client=client, sequence_id=sequence.id, status=LeadStatus.ACTIVE, limit=1)
    assert page.data[0].email == "ada@engines.example"
    assert page.data[0].custom_fields["plan"] == "pro"
    assert list_leads.sync(client=client, cursor=page.next_cursor).data[0].id != page.data[0].id
    assert remove_lead.sync(page.data[0].id, client=client).removed is True
    missing = remove_lead.sync(page.data[0].id, client=client)
    assert isinstance(missing, Error) and missing.error.code.value == "not_found"
    assert 0 <= list_inboxes.sync(client=client).data[0].health_score <= 100
    days = {"from_": dt.date(2020, 1, 1), "to": dt.date(2100, 1, 1)}
    assert sum(row.sends for row in read_stats.sync(client=client, group_by=Grouping.INBOX, **days).data) > 0
    new = NewSubscription(url="https://bot.example/hook", events=[EventKind.REPLY_INTERESTED])
    assert subscribe.sync(client=client, body=new).secret
"""


def test_a_generated_client_works_unchanged(running: Service, tmp_path: Path) -> None:
    generator = Path(sys.executable).with_name("openapi-python-client")
    (tmp_path / "config.yml").write_text("post_hooks: []\n")
    words = [str(generator), "generate", "--url", f"{running.origin}/openapi.json", "--meta", "none"]
    words += ["--output-path", "service_client", "--config", "config.yml", "--fail-on-warning"]
    made = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    words = [sys.executable, "-c", USE_GENERATED, running.base_url, running.api_keys["acme"]]
    used = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert used.returncode == 0, used.stderr


def run_schemathesis(
    running: Service, folder: Path, *words: str, schema: str = "/openapi.json", examples: int, seed: int = 1
) -> str:
    """Return what the command line says after every phase with every check."""
    running.guard.limited = False  # the test that turns every dial may have gone before
    words = ("run", f"{running.origin}{schema}", "--checks", "all", "--max-examples", str(examples), *words)
    program = Path(sys.executable).with_name("schemathesis")
    (folder / "hooks.py").write_text(TURN_LITTLE)
    done = subprocess.run(
        [program, *words, "--seed", str(seed), "--no-color"],
        cwd=folder,
        env={**os.environ, "SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


TURN_LITTLE = f"""
import schemathesis

@schemathesis.hook
def before_call(context, case, **kwargs):
    if isinstance(case.body, dict):
        for name in {LONG}:
            value = case.body.get(name)
            if isinstance(value, int | float) and not isinstance(value, bool):
                case.body[name] = min(value, 1)
"""


def run_on_api(running: Service, folder: Path, *, examples: int, seed: int = 1) -> str:
    phases = ("--phases", "examples,coverage,fuzzing,stateful")
    key = ("--header", f"Authorization: Bearer {running.api_keys['acme']}")
    return run_schemathesis(running, folder, *phases, *key, examples=examples, seed=seed)


def run_on_control(running: Service, folder: Path, *, examples: int, seed: int = 1) -> str:
    """Run without the check that takes every valid request for one to be carried out: only the account knows its domains."""
    phases = ("--url", running.origin, "--phases", "examples,coverage,fuzzing")
    without = ("--exclude-checks", "positive_data_acceptance")
    schema = "/control/openapi.json"
    return run_schemathesis(running, folder, *phases, *without, schema=schema, examples=examples, seed=seed)


def test_schemathesis_finds_nothing_in_any_phase(running: Service, tmp_path: Path) -> None:
    report = run_on_api(running, tmp_path, examples=5)
    assert "No issues found" in report, report
    for phase in ("Examples", "Coverage", "Fuzzing", "Stateful"):
        assert f"✅  {phase}" in report


def test_schemathesis_finds_nothing_in_the_control_api(running: Service, tmp_path: Path) -> None:
    assert "✅  Fuzzing" in run_on_control(running, tmp_path, examples=3)


@pytest.mark.soak
@pytest.mark.timeout(3_000)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_schemathesis_finds_nothing_in_a_long_run(running: Service, tmp_path: Path, seed: int) -> None:
    assert "No issues found" in run_on_api(running, tmp_path, examples=500, seed=seed)
    assert "✅  Fuzzing" in run_on_control(running, tmp_path, examples=500, seed=seed)
