"""What the `[dashboard]` section may say, for pydantic; the names of keys are the dashboard's own and asked for there.

While it starts, the dashboard reads the section leniently: what cannot be meant is refused here, once it stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import time
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool

from shared.settings.alerts_section import wrong

THEMES = ("night", "day", "contrast")


def _theme(name: str) -> str:
    if name not in THEMES:
        raise wrong("is no theme.", f"Use one of {', '.join(THEMES)}.")
    return name


def _time_of_day(text: str) -> str:
    try:
        time.fromisoformat(text.strip())
    except ValueError:
        raise wrong("is no time of day.", "Write it as 04:00; where the screen is, that is.") from None
    return text


def _seconds(value: float) -> float:
    if not 1 <= value <= 86_400:
        raise wrong("is no interval.", "Give seconds, from 1 to 86400.")
    return value


Source = Literal[
    "sequences", "interested", "inboxes", "today", "previous", "sequence", "inbox", "step", "variant"
]
Seconds = Annotated[float, AfterValidator(_seconds)]


class GivenDashboard(BaseModel):
    """The `[dashboard]` section."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    theme: Annotated[str, AfterValidator(_theme)] = THEMES[0]
    read_only: StrictBool = False
    ascii: StrictBool = False
    jitter: Annotated[float, Field(ge=0, le=0.5)] = 0.1
    refresh_at: Annotated[str, AfterValidator(_time_of_day)] = ""
    alarm_command: str = ""
    intervals: Mapping[Source, Seconds] = {}
    keys: Mapping[str, str] = {}

    def settled(self) -> Mapping[str, Any]:
        return self.model_dump(exclude_unset=True)
