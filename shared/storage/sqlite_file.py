"""The file of a SQLite database, told by its address alone.

SQLAlchemy, which reads any address, takes longer to load than the dashboard's first screen to be painted.
"""

from __future__ import annotations

import re
from pathlib import Path

_SQLITE = re.compile(r"sqlite(?:\+\w+)?:///([^?]+)(?:\?.*)?", re.DOTALL)
_IN_MEMORY = ":memory:"


def sqlite_file(address: str) -> Path | None:
    """The file of `sqlite:///PATH`; None for another database, and for one in memory."""
    match = _SQLITE.fullmatch(address)
    return Path(match[1]) if match and match[1] != _IN_MEMORY else None


def sibling_file(file: Path, name: str) -> Path:
    """A file beside another: `outreach.db` -> `outreach-history.db`."""
    return file.with_name(f"{file.stem}-{name}{file.suffix}")
