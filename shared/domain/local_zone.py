"""The time zone of the machine, as the C library reads it: the only place that determines it."""

from __future__ import annotations

import io
import os
import struct
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from pathlib import Path
from zoneinfo import ZoneInfo

from shared.domain.wall_clock import find_zone

_LOCALTIME = Path("/etc/localtime")
_USUAL_RULES = ",M3.2.0,M11.1.0"
"""What the C library takes where a POSIX string has a summer time without its rules."""


def local_zone() -> tzinfo:
    """The zone of $TZ (a name, a file or a POSIX string), else of /etc/localtime, else UTC."""
    return _zone_of(os.environ.get("TZ"))


def local(at: datetime) -> datetime:
    """A moment as the clock of this machine shows it."""
    return at.astimezone(local_zone())


@lru_cache(maxsize=8)
def _zone_of(given: str | None) -> tzinfo:
    """As in tzset(3): an empty or unreadable $TZ is UTC."""
    if given is None:
        name = str(_LOCALTIME.resolve()).partition("zoneinfo/")[2]
        return find_zone(name) or _from_file(_LOCALTIME) or UTC
    name = given.removeprefix(":")
    found = _from_file(Path(name)) if name.startswith("/") else find_zone(name) or posix_zone(name)
    return found or UTC


def _from_file(path: Path) -> ZoneInfo | None:
    try:
        with path.open("rb") as file:
            return ZoneInfo.from_file(file)
    except (OSError, ValueError, struct.error):
        return None


def posix_zone(text: str) -> ZoneInfo | None:
    """The zone of a POSIX string such as `EST5EDT,M3.2.0,M11.1.0` or `<+0545>-5:45`; None if it isn't one."""
    if not text.isascii() or not text.isprintable() or not any(map(str.isdigit, text)):
        return None
    return _of_footer(text) or _of_footer(text + _USUAL_RULES)


def _of_footer(text: str) -> ZoneInfo | None:
    """The zone of a file without transitions, whose footer (RFC 8536, section 3.3) holds for all times."""
    header = struct.pack(">4sc15x6l", b"TZif", b"2", 0, 0, 0, 0, 1, 4)
    block = header + struct.pack(">lBB4s", 0, 0, 0, b"UTC")
    try:
        return ZoneInfo.from_file(io.BytesIO(block + block + f"\n{text}\n".encode()))
    except ValueError:
        return None
