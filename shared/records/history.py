"""Values that the history gives: samples and transitions. Pure."""

from __future__ import annotations

from datetime import datetime

from shared.frozen import frozen


class HistoryUnavailable(Exception):
    """The history's database does not answer at the moment."""


@frozen
class Sample:
    """A health score that held from `at` on; `low` and `high` are the extremes until the next sample."""

    at: datetime
    value: float | None
    low: float | None
    high: float | None


@frozen
class Transition:
    """A thing that went from one word to another: inbox a@x.com, status, active -> resting."""

    at: datetime
    kind: str
    key: str
    label: str
    field: str
    before: str
    after: str
