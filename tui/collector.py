"""The garbage collector, kept from stopping the screen.

A full collection looks at every object: with ten thousand inboxes that stops keys and clock for up to a tenth
of a second, every few polls. Almost everything here is freed by counting references; full ones may be rare.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

THRESHOLDS = (2_000, 20, 1_000)
"""Young collections stay cheap and frequent; the last figure makes full ones a matter of hours."""


@contextlib.contextmanager
def calm() -> Iterator[None]:
    """What is loaded by now is looked at no more, and what comes is seldom looked at as a whole."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    gc.enable()  # while the program loads it may be off
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
