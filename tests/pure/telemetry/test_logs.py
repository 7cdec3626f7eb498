"""A log that nobody reads stops nothing."""

from __future__ import annotations

import asyncio
import atexit
import fcntl
import json
import logging
import os
import pty
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import structlog

from bot.telemetry import logs
from tests.kit.bot import interested
from tests.kit.team import installed

SHORT_QUEUE = """
from bot.telemetry import logs
logs.MAX_QUEUED = 5
"""


@pytest.mark.e2e
async def test_an_unread_log_stops_neither_deliveries_nor_the_shutdown(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    # The smallest pipe, which a few lines fill.
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    try:
        async with (
            installed(tmp_path, OUTREACH_LOG_LEVEL="INFO") as bot,
            bot.process(before=SHORT_QUEUE, stderr=writer) as process,
        ):
            await bot.act("settings", messages_per_second=0)
            async with asyncio.timeout(60):
                for number in range(20):
                    assert await bot.deliver(interested(number)) == 200
                assert set((await bot.until_posted(20)).values()) == {1}
                dropped = [
                    line
                    for line in (await bot.get("/metrics"))[1].splitlines()
                    if line.startswith("outreach_log_lines_dropped_total")
                ]
                assert float(dropped[0].split()[1]) > 0
                process.send_signal(signal.SIGTERM)
                assert await process.wait() == 0
    finally:
        os.close(writer)
        os.close(reader)


@pytest.fixture
def restored(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give the tests their own logs back."""
    kept, root, stderr = structlog.get_config(), logging.getLogger(), os.dup(2)
    handlers, level = root.handlers[:], root.level
    yield
    os.dup2(stderr, 2)
    os.close(stderr)
    structlog.configure(**kept)
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.parametrize("reader", ["color", "plain", "program"])
def test_a_terminal_gets_lines_for_people_and_a_program_gets_json(
    reader: str, monkeypatch: pytest.MonkeyPatch, restored: None
) -> None:
    front, back = os.pipe() if reader == "program" else pty.openpty()
    monkeypatch.setenv("NO_COLOR", "" if reader == "color" else "1")
    os.dup2(back, 2)
    ends = list[Callable[[], None]]()
    monkeypatch.setattr(atexit, "register", ends.append)

    def write_slowly(file: int, line: bytes) -> int:
        time.sleep(0.01)
        return os.write(file, line[:50])

    monkeypatch.setattr(logs, "os", SimpleNamespace(environ=os.environ, write=write_slowly))
    with os.fdopen(back, "w") as stderr, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", stderr)
        logs.set_up("INFO")
        structlog.get_logger("bot").debug("unseen")
        structlog.get_logger("bot").info("posted", lead="\x1b]0;owned\x07Ada\x1b[2J", number=3)
        logging.getLogger("uvicorn").info("unseen")
        logging.getLogger("uvicorn").warning("slow %s", "disk\x1b[31m")
        logging.getLogger("bot.bolt").warning("unseen")
        for end in ends:  # which waits for what isn't written yet
            end()
        text = os.read(front, 65_536).decode()
        os.close(front)
    first, second = text.splitlines()
    assert "unseen" not in text
    if reader == "program":
        assert json.loads(first) | {"timestamp": ""} == {
            "event": "posted", "lead": "\x1b]0;owned\x07Ada\x1b[2J", "number": 3, "level": "info", "timestamp": ""
        }  # fmt: skip
        assert json.loads(second)["event"] == "slow disk\x1b[31m"
        assert json.loads(second)["timestamp"].endswith("Z")
        return
    assert re.search(r"\d\d:\d\d:\d\d.*posted.*Ada.*number", first)
    assert "slow disk" in second
    assert ("\x1b" in text) == (reader == "color")
    for sign in ("\x1b]", "\x1b[2J", "\x07"):
        assert sign not in text
