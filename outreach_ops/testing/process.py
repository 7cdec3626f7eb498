"""Runs a stand-in in a separate process, which ends with its parent."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

STOP_SECONDS = 10.0


@contextlib.contextmanager
def running(*command: str) -> Iterator[dict[str, Any]]:
    """Run `outreach COMMAND` while the block runs; yields what it announces on its first line."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OUTREACH_")}
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(  # noqa: S603 -- this program itself, and its own words
            [sys.executable, "-P", "-m", "outreach_ops", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**environment, "OUTREACH_PARENT_PIPE": "1"},
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            if not line:
                errors.seek(0)
                raise RuntimeError(f"outreach {' '.join(command)} did not start: {errors.read().strip()}")
            yield json.loads(line)
        finally:
            process.stdin.close()  # its lifeline: it stops when this ends
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()
