"""When a failed delivery is tried again: five times over 24 hours, with growing gaps (document: Retries)."""

from __future__ import annotations

from sandbox.service.base.clock import DAY, HOUR, MINUTE
from sandbox.service.base.seeded_random import between, roll

RETRIES = 5
_GAPS = (MINUTE, 10 * MINUTE, HOUR, 5 * HOUR)
_JITTER = 0.1


def retry_at(first_at: float, attempts: int, *, key: object) -> float | None:
    """When the next attempt is due after so many; None when they are used up.

    The plan hangs on the first attempt, so a late attempt does not push the others out of the 24 hours. Each gap is up
    to a tenth longer or shorter than its nominal length, the last one ends within the day.
    """
    if attempts > RETRIES:
        return None
    elapsed = sum(
        gap * between(1 - _JITTER, 1 + _JITTER, roll("retry", key, number))
        for number, gap in enumerate(_GAPS[:attempts], start=1)
    )
    if attempts == RETRIES:
        rest = DAY - elapsed
        elapsed += rest * between(1 - _JITTER, 1.0, roll("retry", key, RETRIES))
    return first_at + elapsed
