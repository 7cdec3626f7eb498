"""Wait for a condition, with a bound."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
DEFAULT_SECONDS = 5.0
_PAUSE_SECONDS = 0.02


def wait_for(find: Callable[[], T | None], *, seconds: float) -> T | None:
    """The first answer that is not None, asked again and again; None when `seconds` pass without one."""
    deadline = time.monotonic() + seconds
    while (found := find()) is None and time.monotonic() < deadline:
        time.sleep(_PAUSE_SECONDS)
    return found
