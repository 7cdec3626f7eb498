"""`outreach init`: a commented outreach.toml to fill in, readable for its owner alone."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from pathlib import Path

from cli.console import exit_codes
from shared.settings import commented_template


def init(options: Namespace) -> int:
    """Write the file; one that is there is overwritten only with `--yes`."""
    path: Path = options.file
    if path.exists() and not options.yes:
        raise exit_codes.Failed(f"{path} is there already; add --yes to overwrite it")
    _write_private(path, commented_template())
    print(f"Wrote {path}. Fill in the base URL and the key, then try: outreach doctor", file=sys.stderr)
    return exit_codes.DONE


def _write_private(path: Path, text: str) -> None:
    """Beside it first, then in its place: nobody ever sees half a file, or one with wider rights."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
