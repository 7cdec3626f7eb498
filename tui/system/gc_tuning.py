"""Garbage collector and worker threads, kept from stopping the screen and from filling the memory.

A full collection looks at every object: with ten thousand inboxes that stops keys and clock for up to a tenth
of a second, every few polls. Almost everything here is freed by counting references; full ones may be rare.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
from collections.abc import Iterator

THRESHOLDS = (2_000, 20, 1_000)
"""Young collections stay cheap and frequent; the last figure makes full ones a matter of hours."""

TURN = 0.001
"""Seconds after which a thread that works out a board lets the event loop have its turn."""
LARGE = 128 * 1024
"""Bytes from which on a piece of memory is the system's again as soon as it is free."""
M_MMAP_THRESHOLD = -3
"""The GNU C library's name for it (mallopt(3)); by itself it learns to keep megabytes for answers like the last."""


@contextlib.contextmanager
def tuned_gc() -> Iterator[None]:
    """What is loaded by now is looked at no more, and what comes is seldom looked at as a whole."""
    _give_back()
    before, turn = gc.get_threshold(), sys.getswitchinterval()
    sys.setswitchinterval(TURN)
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    gc.enable()  # while the program loads it may be off
    try:
        yield
    finally:
        sys.setswitchinterval(turn)
        gc.set_threshold(*before)
        gc.unfreeze()


def _give_back() -> None:
    if setting := getattr(ctypes.CDLL(None), "mallopt", None):
        setting(M_MMAP_THRESHOLD, LARGE)
