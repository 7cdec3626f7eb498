"""Whether a failed request is sent again, and after how long (contract, section 6). Pure."""

from __future__ import annotations

from ..errors import OutreachError, RateLimited, ServiceBroken, Uncertain, Unreachable

ATTEMPTS = 6
FIRST_DELAY = 0.5
LONGEST_DELAY = 8.0
PATIENCE = 2.5
"""Seconds in which a person is told that nobody can be reached; nothing hangs, so trying longer is theirs to decide."""


def decide(
    error: OutreachError,
    attempt: int,
    *,
    safe_to_repeat: bool,
    elapsed: float,
    total: float,
    jitter: float,
    for_person: bool = False,
) -> float | None:
    """Seconds to wait before the next attempt, or None: give up.

    `attempt` counts the attempts made, `elapsed` and `total` are seconds since the first and altogether
    allowed, `jitter` is a random number in 0-1 (full jitter: it scales the whole delay). `for_person`: somebody
    waits for the answer.
    """
    if for_person and isinstance(error, Unreachable):
        total = min(total, PATIENCE)
    if attempt >= ATTEMPTS or not repeatable(error, safe_to_repeat=safe_to_repeat):
        return None
    wait = error.retry_after if isinstance(error, RateLimited) else backoff(attempt, jitter=jitter)
    return wait if elapsed + wait < total else None


def repeatable(error: OutreachError, *, safe_to_repeat: bool) -> bool:
    """429 and no connection: nothing was carried out. All else may have been."""
    if isinstance(error, (RateLimited, Unreachable)):
        return True
    return safe_to_repeat and isinstance(error, (ServiceBroken, Uncertain))


def backoff(attempt: int, *, jitter: float) -> float:
    """0.5·2ⁿ seconds, at most 8, scaled by `jitter`."""
    return jitter * min(LONGEST_DELAY, FIRST_DELAY * 2.0 ** min(attempt - 1, 10))
