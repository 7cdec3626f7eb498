"""A log that nobody reads stops nothing."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.bot import interested
from tests.kit.team import installed

pytestmark = pytest.mark.e2e

SHORT_QUEUE = """
from bot.telemetry import logs
logs.MAX_QUEUED = 5
"""


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


async def test_every_line_of_a_log_that_is_read_is_json_up_to_the_last(tmp_path: Path) -> None:
    file = tmp_path / "bot.log"
    with file.open("wb") as log:
        async with (
            installed(tmp_path, OUTREACH_LOG_LEVEL="INFO") as bot,
            bot.process(stderr=log.fileno()) as process,
        ):
            assert await bot.deliver(interested(1)) == 200
            await bot.until_posted(1)
            process.send_signal(signal.SIGTERM)
            assert await process.wait() == 0
    events = [json.loads(line)["event"] for line in file.read_text().splitlines()]
    assert events[-1] == "stopped"
    assert {"listening", "delivery", "posted"} <= set(events)


HOSTILE = """
from bot.telemetry import logs
logs.set_up("INFO")
import logging, structlog
structlog.get_logger("bot").info("posted", lead="\\x1b]0;owned\\x07Ada\\x1b[2J", number=3)
logging.getLogger("uvicorn").warning("slow %s", "disk\\x1b[31m")
"""


@pytest.mark.parametrize("color", [True, False])
def test_a_terminal_gets_lines_for_people_that_nobody_else_can_style(color: bool) -> None:  # noqa: FBT001
    front, back = pty.openpty()
    environ = {**os.environ, "NO_COLOR": "" if color else "1"}
    try:
        subprocess.run([sys.executable, "-c", HOSTILE], stderr=back, env=environ, check=True, timeout=120)
        os.close(back)
        text = os.read(front, 65_536).decode()
    finally:
        os.close(front)
    first, second = text.splitlines()
    assert "posted" in first
    assert "slow disk" in second
    assert "Ada" in first
    for sign in ("\x1b]", "\x1b[2J", "\x07", *(() if color else ("\x1b",))):
        assert sign not in text
