"""The time zone of the machine, the only place that determines it."""

from __future__ import annotations

import os
import struct
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from pathlib import Path
from zoneinfo import ZoneInfo

from shared.domain.wall_clock import find_zone

_LOCALTIME = Path("/etc/localtime")


def local_zone() -> tzinfo:
    """The zone of $TZ (a name or a file), else of /etc/localtime, else UTC."""
    return _zone_of(os.environ.get("TZ"))


def local(at: datetime) -> datetime:
    """A moment as the clock of this machine shows it."""
    return at.astimezone(local_zone())


@lru_cache(maxsize=8)
def _zone_of(given: str | None) -> tzinfo:
    """Read $TZ as tzset(3) does: an empty or unreadable one is UTC."""
    if given is None:
        name = str(_LOCALTIME.resolve()).partition("zoneinfo/")[2]
        return find_zone(name) or _from_file(_LOCALTIME) or UTC
    name = given.removeprefix(":")
    found = _from_file(Path(name)) if name.startswith("/") else find_zone(name)
    return found or UTC


def _from_file(path: Path) -> ZoneInfo | None:
    try:
        with path.open("rb") as file:
            return ZoneInfo.from_file(file)
    except (OSError, ValueError, struct.error):
        return None
