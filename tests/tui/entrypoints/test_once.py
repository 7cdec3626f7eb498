"""One snapshot of the sandbox's account on stdout or in a file, by the real command."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from sandbox.service import Service
from shared.domain.snapshot import SOURCES
from shared.operations.context import open_client
from tests.tui.entrypoints.test_web import settings_of
from tui.entrypoints.once import PAPER


async def once(folder: Path, base_url: str, key: str, *words: str) -> tuple[int, str, str]:
    """Run `outreach dashboard --once`; its exit code, stdout and stderr."""
    (folder / "outreach.toml").touch()
    environ = {name: value for name, value in os.environ.items() if not name.startswith("OUTREACH_")}
    environ |= {
        "OUTREACH_CONFIG": str(folder / "outreach.toml"),
        "OUTREACH_BASE_URL": base_url,
        "OUTREACH_API_KEY": key,
        "OUTREACH_DATABASE_URL": f"sqlite:///{folder}/outreach.db",
        "XDG_STATE_HOME": str(folder),
        "PYTHONIOENCODING": "utf-8",
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "cli.main", "dashboard", "--once", *words),
        env=environ,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


@asynccontextmanager
async def open_service(account: str) -> AsyncIterator[tuple[Service, str]]:
    async with Service(database=account) as opened:
        yield opened, next(iter(opened.api_keys.values()))


async def test_once_prints_the_verdict_the_figures_and_every_list(tmp_path: Path, account: str) -> None:
    async with open_service(account) as (sandbox, key):
        async with open_client(settings := settings_of(sandbox, tmp_path), settings.workspace()) as client:
            sequences, inboxes = await client.list_sequences(), await client.list_inboxes()
        code, out, err = await once(tmp_path, sandbox.base_url, key)
    assert (code, err) == (0, "")
    assert sequences
    assert inboxes
    assert "inboxes" in out.splitlines()[0]
    for title in ("INBOXES", "SEQUENCES", "INTERESTED", *(f"STATS BY {g}" for g in ("SEQUENCE", "STEP"))):
        assert title in out
    for label in ("Sends", "Replies", "Positive", "Meetings"):
        assert any(line.strip().startswith(label) and "today" in line for line in out.splitlines())
    assert all(sequence.label in out for sequence in sequences)
    assert all(inbox.email.partition("@")[0] in out for inbox in inboxes)
    assert max(map(len, out.splitlines())) <= PAPER
    assert "\x1b" not in out, "a pipe gets no colors"


async def test_once_as_json_holds_what_the_service_says(tmp_path: Path, account: str) -> None:
    async with open_service(account) as (sandbox, key):
        async with open_client(settings := settings_of(sandbox, tmp_path), settings.workspace()) as client:
            sequences, inboxes = await client.list_sequences(), await client.list_inboxes()
        code, out, err = await once(tmp_path, sandbox.base_url, key, "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert {one["id"]: one["status"] for one in found["sequences"]} == {s.id: s.status for s in sequences}
    assert {one["email"] for one in found["inboxes"]} == {inbox.email for inbox in inboxes}
    verdict = found["verdict"]
    assert sum(verdict[word] for word in ("healthy", "at_risk", "bad", "resting", "unknown")) == len(inboxes)
    assert verdict["tone"] in {"good", "warn", "bad", "unknown"}
    for row in (found["previous"], *found["stats_step"]):
        low, rate, high = (row[name] for name in ("reply_rate_low", "reply_rate", "reply_rate_high"))
        assert low < rate < high
    assert len(found["readings"]) == len(SOURCES)
    for reading in found["readings"].values():
        assert datetime.fromisoformat(reading["read_at"]).tzinfo
        assert reading["error"] is None


async def test_once_as_svg_draws_the_board_into_the_file_and_prints_nothing(
    tmp_path: Path, account: str
) -> None:
    picture = tmp_path / "board.svg"
    async with open_service(account) as (sandbox, key):
        async with open_client(settings := settings_of(sandbox, tmp_path), settings.workspace()) as client:
            sequences = await client.list_sequences()
        code, out, err = await once(tmp_path, sandbox.base_url, key, "--svg", str(picture))
    assert (code, out, err) == (0, "", "")
    drawn = ET.fromstring(picture.read_text())  # ours, and parsed to see that it can be
    assert drawn.tag.endswith("svg")
    text = "".join(drawn.itertext()).replace("\xa0", " ")
    assert "SEQUENCES" in text
    assert sequences[0].label in text


@pytest.mark.e2e
async def test_once_names_what_could_not_be_read_and_fails(tmp_path: Path) -> None:
    code, out, err = await once(tmp_path, "http://127.0.0.1:9/v1", "live_none", "--json")
    assert code == 1
    assert err.startswith("Some data couldn't be read.\n  ")
    found = json.loads(out)
    assert found["inboxes"] is None
    assert len(found["readings"]) == len(SOURCES)
    assert all(reading["error"] for reading in found["readings"].values())
