"""Rewrites the asserts of all tests once, on every core, before several processes of pytest load them.

In a fresh checkout each of those would do it for itself, all at the same time: five seconds of a processor each.
"""

from __future__ import annotations

import contextlib
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from _pytest.assertion import rewrite

TESTS = Path(__file__).parents[1]


def rewrite_tests() -> None:
    """Rewrite what has changed; a file that can't be read or written here is left to pytest, which says why."""
    files = [*TESTS.rglob("test_*.py"), *TESTS.rglob("conftest.py")]
    stale = [file for file in files if not _is_fresh(file)]
    if stale and not sys.dont_write_bytecode:
        with ProcessPoolExecutor() as pool:
            list(pool.map(_rewrite, stale, chunksize=4))


def _cached(file: Path) -> Path:
    return rewrite.get_cache_dir(file) / (file.stem + rewrite.PYC_TAIL)


def _is_fresh(file: Path) -> bool:
    cached = _cached(file)
    return cached.exists() and cached.stat().st_mtime >= file.stat().st_mtime


def _rewrite(file: Path) -> None:
    with contextlib.suppress(OSError, SyntaxError):
        stat, code = rewrite._rewrite_test(file, None)  # type: ignore[arg-type] # no option is read
        cached = _cached(file)
        cached.parent.mkdir(exist_ok=True)
        # As pytest writes it: whole or not at all.
        rewrite._write_pyc(None, code, stat, cached)  # type: ignore[arg-type] # it only reads errors
