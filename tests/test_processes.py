"""A program that a failed test has started is gone, with its children and its pipes."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import suppress

import psutil
import pytest

from tests import processes
from tests.processes import running
from tests.waiting import wait_until

PARENT = """
import signal, subprocess, sys, time
if "deaf" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
print(child.pid, flush=True)
time.sleep(1000)
"""


@pytest.mark.e2e
@pytest.mark.parametrize("words", [(), ("deaf",)])
def test_a_failed_test_leaves_no_process_and_no_pipe(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "END_SECONDS", 1)
    with (
        suppress(ZeroDivisionError),
        running([sys.executable, "-c", PARENT, *words], stdout=subprocess.PIPE) as process,
    ):
        assert process.stdout
        child = psutil.Process(int(process.stdout.readline()))
        raise ZeroDivisionError
    assert process.returncode == -(signal.SIGKILL if words else signal.SIGTERM)
    assert process.stdout
    assert process.stdout.closed
    wait_until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)
