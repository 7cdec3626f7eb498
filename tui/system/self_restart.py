"""A wall that restarts itself at a quiet hour, freeing memory and keeping its view.

The history paints the first picture of the new process; what else must last goes through its environment.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta, tzinfo
from typing import Any, NoReturn, Self

from shared.domain.wall_clock import instant

VARIABLE = "OUTREACH_DASHBOARD_RESUMES"
CODE = 75
"""The app's return value that asks for a restart."""
LEAST = timedelta(hours=1)
"""A dashboard that is younger than this is new enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartState:
    """What outlasts the process."""

    wall: bool = False
    theme: str = ""
    alarms: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    """By workspace."""

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Self | None:
        """What the process before left; None where there was none, or it is not understood."""
        try:
            document = json.loads(environ.get(VARIABLE, ""))
            alarms = {str(name): list(map(dict, rows)) for name, rows in document["alarms"].items()}
            return cls(wall=bool(document["wall"]), theme=str(document["theme"]), alarms=alarms)
        except (ValueError, KeyError, TypeError, AttributeError):
            return None

    def to_json(self) -> str:
        return json.dumps({"wall": self.wall, "theme": self.theme, "alarms": dict(self.alarms)})


def parse_time(text: str) -> time | None:
    """`04:00`; None if it isn't a time of day."""
    try:
        return time.fromisoformat(text.strip()).replace(tzinfo=None)
    except ValueError:
        return None


def is_due(at: time | None, *, began: datetime, now: datetime, zone: tzinfo) -> bool:
    """Whether the hour has come in the zone since the process began; once a day, also where clocks show it twice."""
    if at is None or now - began < LEAST:
        return False
    today = now.astimezone(zone).date()
    return any(began < instant(today - timedelta(days=ago), at, zone) <= now for ago in (-1, 0, 1, 2))


def restart(state: RestartState, *, words: Sequence[str] = sys.orig_argv) -> NoReturn:
    os.environ[VARIABLE] = state.to_json()
    os.execv(sys.executable, [sys.executable, *words[1:]])  # noqa: S606 # our own words, and no shell
