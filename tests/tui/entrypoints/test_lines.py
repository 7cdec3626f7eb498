"""The line mode: the real command against the real sandbox, and what its lines go through."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import aiohttp
import pytest

from sandbox.service import Service
from shared.domain.failures import REJECTED
from tests.processes import running_async
from tests.tui.accounts import Clock
from tests.waiting import until
from tui.entrypoints.lines import MOST_WAITING, LineWriter, Timeline
from tui.system.terminal import is_hung_up, output_encoding, writable

ROOT = Path(__file__).parents[3]
PATIENCE = 80


@asynccontextmanager
async def lines_of(
    service: Service, folder: Path, **environ: str
) -> AsyncIterator[tuple[asyncio.subprocess.Process, asyncio.StreamReader]]:
    """`outreach dashboard --lines` on an account, and what it prints."""
    (folder / "outreach.toml").touch()
    settings = {
        "OUTREACH_CONFIG": str(folder / "outreach.toml"),
        "OUTREACH_STATE_DIR": str(folder),
        "OUTREACH_BASE_URL": service.base_url,
        "OUTREACH_API_KEY": next(iter(service.api_keys.values())),
        "OUTREACH_POLL_SECONDS": "1",
        "TZ": "UTC",
    }
    plain = {name: value for name, value in os.environ.items() if not name.startswith("OUTREACH_")}
    command = (sys.executable, "-P", "-m", "outreach_ops", "dashboard", "--lines")
    async with running_async(
        *command,
        cwd=ROOT,
        env=plain | settings | environ,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    ) as process:
        assert process.stdout
        yield process, process.stdout


async def line_with(lines: asyncio.StreamReader, words: str) -> str:
    """The next line that has these words; each line before it must be whole, too."""
    seen = []
    async with asyncio.timeout(PATIENCE):
        while True:
            line = (await lines.readline()).decode()
            seen.append(line)
            assert re.match(r"\d\d:\d\d \S", line), seen
            if words in line:
                return line


@pytest.mark.e2e
async def test_an_outage_and_a_pause_are_lines_and_sigterm_ends_it_in_order(
    tmp_path: Path, account: str
) -> None:
    async with Service(database=account, speed=0) as service, aiohttp.ClientSession() as http:
        service.state.limiter.change("off")
        faults = f"{service.control_url}/faults"
        async with lines_of(service, tmp_path) as (process, lines):
            await line_with(lines, ", UTC")
            assert "inboxes" in await line_with(lines, "inboxes")
            await http.post(faults, json={"status": 401, "times": None})
            await line_with(lines, REJECTED)
            await http.delete(faults)
            await line_with(lines, "The service can be read again")
            process.terminate()
            async with asyncio.timeout(PATIENCE):
                out, err = await process.communicate()
            assert process.returncode == 0
            assert err == b""
            assert out == b"" or out.endswith(b"\n")


@pytest.mark.e2e
async def test_it_ends_when_nobody_reads_though_nothing_more_happens(tmp_path: Path, account: str) -> None:
    async with Service(database=account, speed=0) as service:
        service.state.limiter.change("off")
        async with lines_of(service, tmp_path) as (process, lines):
            await line_with(lines, "inboxes")
            lines._transport.close()  # type: ignore[attr-defined] # as `| head` does
            async with asyncio.timeout(PATIENCE):
                assert await process.wait() == 0


@pytest.mark.e2e
async def test_the_locale_of_plain_ascii_gets_plain_ascii(tmp_path: Path, account: str) -> None:
    async with Service(database=account, speed=0) as service:
        service.state.limiter.change("off")
        async with lines_of(service, tmp_path, LC_ALL="C") as (_, lines):
            assert (await line_with(lines, "inboxes")).isascii()


async def test_a_reader_that_stops_reading_costs_the_oldest_lines_and_holds_up_nothing() -> None:
    reader, descriptor = os.pipe()
    writer = LineWriter(descriptor, encoding="utf-8")
    long = "x" * 4_000
    for number in range(MOST_WAITING + 200):  # a pipe takes 64 KiB
        writer.put(f"{number} {long}")
    assert not writer.is_unread
    written = bytearray()
    os.set_blocking(reader, False)

    def has_last() -> bool:
        try:
            written.extend(os.read(reader, 1_000_000))
        except BlockingIOError:
            return False
        return written.endswith(f"\n{MOST_WAITING + 199} {long}\n".encode())

    await until(has_last)
    told = [line.split(" x")[0] for line in written.decode().splitlines()]
    (gap,) = [number for number, line in enumerate(told) if "left out" in line]
    count = int(told[gap].removeprefix("(").split()[0])
    kept = [int(line) for line in told[:gap] + told[gap + 1 :]]
    assert kept == sorted({*range(MOST_WAITING + 200)} - {*range(kept[gap] - count, kept[gap])})
    os.close(reader)
    await until(lambda: is_hung_up(descriptor))
    writer.put("nobody reads this")
    writer.drain(5)
    await until(lambda: writer.is_unread)
    os.close(descriptor)


def test_each_line_has_its_time_and_each_day_its_date_once(clock: Clock) -> None:
    told: list[str] = []
    timeline = Timeline(told.append, now=clock)
    timeline.tell("one")
    timeline.tell("two")
    clock.advance(timedelta(hours=12).total_seconds())
    timeline.tell("three")
    assert told == [
        "14:32 Monday, 2 March 2026, UTC",
        "14:32 one",
        "14:32 two",
        "02:32 Tuesday, 3 March 2026, UTC",
        "02:32 three",
    ]


@pytest.mark.parametrize(
    ("environ", "encoding"),
    [
        ({}, "utf-8"),
        ({"LANG": "de_DE.UTF-8"}, "utf-8"),
        ({"LANG": "C.UTF-8"}, "utf-8"),
        ({"LC_ALL": "C"}, "ascii"),
        ({"LC_ALL": "POSIX", "LANG": "de_DE.UTF-8"}, "ascii"),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, "ascii"),  # what Python has made of LANG=C
        ({"LANG": "C", "LC_CTYPE": "de_DE.UTF-8"}, "utf-8"),
        ({"LC_ALL": "C", "PYTHONUTF8": "1"}, "utf-8"),
        ({"LC_ALL": "C", "PYTHONIOENCODING": "utf-8"}, "utf-8"),
    ],
)
def test_a_plain_locale_by_name_asks_for_ascii(environ: dict[str, str], encoding: str) -> None:
    assert output_encoding("utf-8", environ) == encoding


def test_what_an_encoding_lacks_is_written_plainly() -> None:
    text = "● José: 70 → 64 · 日本"
    assert writable(text, "utf-8") == text
    assert writable(text, "ascii") == "o Jose: 70 > 64 . ??"
    assert writable("José 70%", "latin-1") == "José 70%"
