"""What a dashboard that runs for weeks changes of its process, and gives back when it ends."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tui.app.run import _run_until_exit
from tui.system.process import logging_to, tuned_gc


def test_full_collections_are_rare_while_it_runs_alone() -> None:
    before = gc.get_threshold(), sys.getswitchinterval(), gc.get_freeze_count()
    gc.disable()
    gc.unfreeze()
    with tuned_gc():
        assert gc.isenabled()
        assert gc.get_threshold() == (2_000, 20, 1_000)
        assert sys.getswitchinterval() == pytest.approx(0.001)
        assert gc.get_freeze_count() > 1_000
    after = gc.get_threshold(), sys.getswitchinterval(), gc.get_freeze_count()
    assert after[:2] == before[:2]
    assert after[2] == 0


def test_the_log_is_the_owners_alone_bounded_and_given_back(tmp_path: Path) -> None:
    root, file = logging.getLogger(), tmp_path / "state" / "dashboard.log"
    handlers, level = root.handlers[:], root.level
    with logging_to(file, level="INFO"):
        logging.getLogger("tui").info("first")
        logging.getLogger("httpx").info("addresses with ids")
        for number in range(3):
            logging.getLogger("tui").warning("%d %s", number, "x" * 600_000)
        assert root.level == logging.INFO
    assert (root.handlers, root.level) == (handlers, level)
    assert {path.name for path in file.parent.iterdir()} == {"dashboard.log", "dashboard.log.1"}
    assert file.stat().st_mode & 0o077 == 0
    assert " WARNING tui: 2 x" in file.read_text()
    assert "addresses" not in file.read_text() + (file.parent / "dashboard.log.1").read_text()


def test_a_disk_that_cannot_be_written_to_costs_the_log_alone(tmp_path: Path) -> None:
    root, file = logging.getLogger(), tmp_path / "file"
    handlers = root.handlers[:]
    file.write_text("no folder")
    with logging_to(file / "dashboard.log", level="INFO"):
        logging.getLogger("tui").warning("lost")
        assert [type(handler) for handler in root.handlers] == [logging.NullHandler]
    assert root.handlers == handlers
    assert file.read_text() == "no folder"


async def test_a_dashboard_that_is_cancelled_exits_in_order() -> None:
    asked, over = asyncio.Event(), asyncio.Event()

    async def run() -> None:
        await asked.wait()
        over.set()

    app: Any = SimpleNamespace(run_async=run, exit=asked.set)
    running = asyncio.create_task(_run_until_exit(app))
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert over.is_set()
