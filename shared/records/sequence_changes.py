"""Changes of a sequence's status: one at a time, with the timer that ends a pause."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Literal

from shared.frozen import frozen


@frozen
class PauseEnd:
    """The end of a timed pause of a sequence, in Unix seconds, and who paused it."""

    sequence: str
    until: float
    by: str = ""


Status = Literal["paused", "active"]
LOCK_SECONDS = 15.0
"""The longest delay that a dead process causes to the next change; a living one renews its lock."""
UNDER_WAY = -1
"""The revision of a sequence that someone is changing, or died while changing."""


@frozen
class SequenceChange:
    """A change under way, locked by `token`."""

    workspace: str
    sequence: str
    status: Status
    """The status that the service is asked for."""
    token: int
    revision: int
    """The number of changes before this one; `UNDER_WAY` if a dead process may have sent a request."""
    number: int = 0
    """The number of changes before this one, also where it is uncertain whether they were all."""
    timer: Timer | None = None
    """The timer as it was before the change."""
    confirmed: str = ""
    """The status that was confirmed last; empty where none is certain."""


@frozen
class ChangeResult:
    """The end of a change, written together with its timer."""

    outcome: Literal["confirmed", "unchanged", "uncertain"]
    """`unchanged`: surely nothing was done. `uncertain`: the service may have done it, or may still do it."""
    late: bool = False
    """An attempt was never answered: the service may still carry it out."""
    timer: Timer | None = None
    keep_timer: bool = False
    """Leave the timer as it is; else it becomes `timer`, or none."""


@frozen
class Timer:
    """The end of a timed pause, carried out once by any bot process; `key` is the id of the sequence."""

    key: str
    due_at: datetime
    payload: Mapping[str, str] = field(default_factory=dict)
