"""One snapshot of the sandbox's account on stdout or in a file, by the real command in this process."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree as ET

import aiohttp
import pytest

from cli.main import main
from sandbox.service import Service
from shared.api.models import Inbox, Sequence
from shared.commands.run import open_client
from shared.domain.snapshot import SOURCES, ProblemStart
from shared.history.history import History
from shared.settings import Settings, load
from shared.storage.database import parse_url
from tests.kit.clock import moment
from tests.kit.pace import lift_rate_limit
from tui.entrypoints.once import PAPER

Once = Callable[..., Awaitable[tuple[int, str, str]]]


@pytest.fixture
def once(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Once:
    """Runs `outreach dashboard --once` in a thread; its exit code, stdout and stderr."""
    lift_rate_limit(monkeypatch)
    (tmp_path / "outreach.toml").touch()
    # Settings of the machine that tests would win over the test's file.
    for name in [name for name in os.environ if name.startswith("OUTREACH_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OUTREACH_CONFIG", str(tmp_path / "outreach.toml"))
    monkeypatch.setenv("OUTREACH_DATABASE_URL", f"sqlite:///{tmp_path}/outreach.db")

    async def run(base_url: str, key: str, *words: str) -> tuple[int, str, str]:
        monkeypatch.setenv("OUTREACH_BASE_URL", base_url)
        monkeypatch.setenv("OUTREACH_API_KEY", key)
        capsys.readouterr()
        code = await asyncio.to_thread(main, ["dashboard", "--once", *words])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


@asynccontextmanager
async def open_service() -> AsyncIterator[tuple[Service, str]]:
    async with Service() as opened:
        opened.guard.limited = False
        yield opened, next(iter(opened.api_keys.values()))


def settings_of(service: Service, folder: Path) -> Settings:
    """Its first workspace, with a database in the folder, read as seldom as can be."""
    (folder / "outreach.toml").touch()
    key = next(iter(service.api_keys.values()))
    return load(
        config=folder / "outreach.toml",
        environ={
            "OUTREACH_BASE_URL": service.base_url,
            "OUTREACH_API_KEY": key,
            "OUTREACH_DATABASE_URL": f"sqlite:///{folder}/outreach.db",
            "OUTREACH_POLL_SECONDS": "3600",
        },
    )


async def listed(service: Service, folder: Path) -> tuple[tuple[Sequence, ...], tuple[Inbox, ...]]:
    """What the service has, read by a client of the test's own."""
    async with open_client(settings := settings_of(service, folder), settings.workspace()) as client:
        return await client.list_sequences(), await client.list_inboxes()


async def test_once_prints_the_verdict_the_figures_and_every_list(once: Once, tmp_path: Path) -> None:
    async with open_service() as (sandbox, key):
        sequences, inboxes = await listed(sandbox, tmp_path)
        code, out, err = await once(sandbox.base_url, key)
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
    assert re.fullmatch(r"  \d{1,2} \w{3} \d{4} \d\d:\d\d UTC · default", out.splitlines()[1])


async def test_once_as_json_holds_what_the_service_says(once: Once, tmp_path: Path) -> None:
    async with open_service() as (sandbox, key):
        sequences, inboxes = await listed(sandbox, tmp_path)
        code, out, err = await once(sandbox.base_url, key, "--json")
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
    once: Once, tmp_path: Path
) -> None:
    picture = tmp_path / "board.svg"
    async with open_service() as (sandbox, key):
        _, inboxes = await listed(sandbox, tmp_path)
        code, out, err = await once(sandbox.base_url, key, "--svg", str(picture))
    assert (code, out, err) == (0, "", "")
    drawn = ET.fromstring(picture.read_text())  # ours, and parsed to see that it can be
    assert drawn.tag.endswith("svg")
    text = "".join(drawn.itertext()).replace("\xa0", " ")
    assert "DOMAINS" in text
    assert inboxes[0].domain in text


async def test_once_draws_the_incident_with_what_earlier_pictures_saw(once: Once, tmp_path: Path) -> None:
    picture = tmp_path / "incident.svg"

    async def drawn(sandbox: Service, key: str) -> str:
        code, out, err = await once(sandbox.base_url, key, "--incident", "6h", "--svg", str(picture))
        assert (code, out, err) == (0, "", "")
        return "".join(ET.fromstring(picture.read_text()).itertext()).replace("\xa0", " ")

    async with open_service() as (sandbox, key):
        before = await drawn(sandbox, key)
        await pause_a_domain(sandbox)
        after = await drawn(sandbox, key)

    assert re.search(r"INCIDENTS \d+  6 h", before)
    assert "healthy" in before
    assert "No history" not in before
    assert "paused for" not in before
    assert "1 paused for" in after
    assert re.search(r"paused for \d+ s · \d+ inboxes stopped", after)


async def pause_a_domain(service: Service) -> None:
    """Let the service pause one, as the sandbox's control does."""
    async with aiohttp.ClientSession() as person:
        wanted = {"workspace": "acme", "kind": "domain.paused", "count": 1}
        async with person.post(f"{service.control_url}/events", json=wanted) as answer:
            assert answer.ok, await answer.text()


async def test_once_tells_since_when_as_earlier_runs_saw_it_and_creates_no_file(
    once: Once, tmp_path: Path
) -> None:
    """In words and in JSON alike; what held already at the first look has no start in JSON."""
    async with open_service() as (sandbox, key):
        await pause_a_domain(sandbox)
        settings = settings_of(sandbox, tmp_path)
        place, began = settings.workspace(), moment() - timedelta(hours=3)
        kept = parse_url(f"sqlite:///{tmp_path}/outreach-history.db")
        code, out, _ = await once(sandbox.base_url, key, "--json")
        (alarm,) = [one for one in json.loads(out)["alarms"] if one["kind"] == "paused"]
        assert (code, alarm["since"]) == (0, None)
        assert not await asyncio.to_thread(Path(str(kept.database)).exists), "a snapshot creates no file"
        for is_older in (False, True):
            start = ProblemStart(
                key=f"domain {alarm['where']}",
                kind="paused",
                since=began.timestamp(),
                kind_since=began.timestamp(),
                is_older=is_older,
            )
            async with History(kept) as history:
                await history.follow_problems(place.name, (), spared="", now=began - timedelta(hours=9))
                await history.follow_problems(place.name, (start,), spared="", now=began)
            _, words, _ = await once(sandbox.base_url, key)
            _, out, _ = await once(sandbox.base_url, key, "--json")
            (alarm,) = [one for one in json.loads(out)["alarms"] if one["kind"] == "paused"]
            assert f"not sending since {'before ' if is_older else ''}{began:%H:%M}" in words
            # What was so at a first look has no start: a script must not take that look for one.
            assert alarm["since"] == (None if is_older else began.isoformat())


@pytest.mark.e2e
async def test_once_names_what_could_not_be_read_and_fails(once: Once) -> None:
    code, out, err = await once("http://127.0.0.1:9/v1", "live_none", "--json")
    assert code == 1
    assert err.startswith("Some data couldn't be read.\n  ")
    found = json.loads(out)
    assert found["inboxes"] is None
    assert len(found["readings"]) == len(SOURCES)
    assert all(reading["error"] for reading in found["readings"].values())


@pytest.mark.parametrize("terminal", [True, False])
async def test_json_is_escaped_on_a_terminal_and_exact_in_a_pipe(
    once: Once, monkeypatch: pytest.MonkeyPatch, *, terminal: bool
) -> None:
    name = "\x9b31m\u202egnp.exe"
    monkeypatch.setattr("tui.entrypoints.once.as_data", lambda *_, **_named: {"name": name})
    # A terminal obeys what a name holds; a program behind a pipe needs the name as it is.
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: terminal)
    async with open_service() as (sandbox, key):
        _, shown, _ = await once(sandbox.base_url, key, "--json")
    assert json.loads(shown) == {"name": name}
    assert (name in shown) is not terminal
