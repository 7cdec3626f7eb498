"""The allocator of the GNU C library, for processes that run for weeks. Elsewhere this changes nothing.

By itself it keeps what an answer of some megabytes needed, for the next one like it, and gives each thread a heap of its
own, so that what ten threads need for a moment in turn is kept ten times.
"""

from __future__ import annotations

import ctypes

LARGE = 128 * 1024
"""Bytes from which on a piece of memory is the system's again as soon as it is free."""
HEAPS = 2
"""Heaps that all threads share."""
M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8
"""Its names for both: https://man7.org/linux/man-pages/man3/mallopt.3.html"""


def give_memory_back() -> None:
    """Keep less memory that is free; before the first thread starts."""
    if setting := getattr(ctypes.CDLL(None), "mallopt", None):
        setting(M_MMAP_THRESHOLD, LARGE)
        setting(M_ARENA_MAX, HEAPS)
