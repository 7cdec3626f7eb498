"""The past of an account, played once in a run of several processes: that takes a second, and reading it a fortieth."""

from __future__ import annotations

import fcntl
import hashlib
import os
import pickle
from functools import lru_cache
from pathlib import Path
from typing import Any

from sandbox.service import founding

# Not named like a setting: those are taken out of the environment of each test of the shell.
FOLDER = "TESTS_PASTS_FOLDER"
"""The variable of the folder that the processes of a run share."""


def play_once() -> None:
    """Have this process read what another one has played."""
    played = founding._past
    # A past is of the sources that played it: a changed copy of them may run beside these tests.
    sources = hashlib.sha256()
    for file in sorted(Path(founding.__file__).parent.rglob("*.*")):
        if file.suffix in {".py", ".toml"}:
            sources.update(file.read_bytes())

    @lru_cache(maxsize=4)
    def past(source: str, **which: Any) -> Any:
        key = hashlib.sha256(f"{source} {which} {sources.hexdigest()}".encode()).hexdigest()
        file = Path(os.environ[FOLDER], key)
        with file.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # the others wait for the first, which costs them nothing
            if file.exists():
                return pickle.loads(file.read_bytes())
            account = played(source, **which)
            file.write_bytes(pickle.dumps(account))
            return account

    vars(founding)["_past"] = past
