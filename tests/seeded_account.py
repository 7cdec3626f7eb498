"""The sandbox's account with nine weeks of history, kept between runs: making it takes 12 seconds of a processor."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import secrets
import shutil
import sqlite3
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
KEPT = 4
"""Accounts that stay in the cache: those of a few branches, or of a few moments of `make test-clock`."""


def make_account(file: Path, *, now: int, cache: Path | None) -> None:
    """Put the account of this moment into `file`, from the cache if it is there. Whole, or not at all."""
    unfinished = file.with_suffix(".unfinished")
    kept = cache / f"{fingerprint(now)}.db" if cache else None
    if kept is None or not _copied(kept, unfinished):
        asyncio.run(_seed(unfinished, now=now))
        if kept:
            _keep(unfinished, kept)
    os.utime(unfinished, (now, now))  # the sandbox takes up its clock there
    unfinished.rename(file)


def fingerprint(now: int) -> str:
    """A hash of all that the account depends on."""
    sandbox = ROOT / "sandbox"
    sources = [*sandbox.glob("*.py"), *(path for path in (sandbox / "service").rglob("*") if path.is_file())]
    sources = sorted(path for path in sources if "__pycache__" not in path.parts)
    found = hashlib.sha256(f"{now} {sys.version} {sqlite3.sqlite_version}".encode())
    for path in (Path(__file__), ROOT / "requirements.lock", *sources):
        found.update(f"\n{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return found.hexdigest()[:32]


def _copied(kept: Path, file: Path) -> bool:
    try:
        shutil.copyfile(kept, file)
    except FileNotFoundError:
        return False
    with contextlib.suppress(OSError):  # read-only, which a reader needn't mind
        kept.touch()
    return True


def _keep(file: Path, kept: Path) -> None:
    """Copy the file there for later runs, and remove what was used least recently. Without the room or the permission to
    write, later runs make it again."""
    unfinished = kept.with_name(f"{secrets.token_hex(8)}.unfinished")
    with contextlib.suppress(OSError):
        shutil.copyfile(file, unfinished)
        unfinished.replace(kept)
        used = sorted(kept.parent.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for old in used[KEPT:]:  # also unfinished ones, of runs that were killed
            old.unlink(missing_ok=True)


async def _seed(file: Path, *, now: int) -> None:
    from sandbox.service import Service

    async with Service(database=f"sqlite:///{file}", speed=0, now=now):
        pass
