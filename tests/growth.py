"""How work grows with what there is: N against ten times as much, counted, never timed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

LINEAR = 12.0
"""How many times the work ten times as much may take; the rest is for logarithms."""


def lines_run(act: Callable[[], object]) -> int:
    """The lines of Python that a call runs, in whatever module."""
    count, before = 0, sys.gettrace()

    def trace(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(before)
    return count
