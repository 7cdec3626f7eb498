"""What happened, in order: what people did, and what was posted, changed, deleted and opened."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Literal

MAX_ENTRIES = 5000

Kind = Literal["act", "posted", "changed", "deleted", "view", "home"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing that happened; an `act` has a name and a body, everything else what there was to read."""

    at: float
    kind: Kind
    user: str
    """The id of who acted, posted, or sees the view."""
    channel: str = ""
    ts: str = ""
    thread_ts: str | None = None
    seen_by: str | None = None
    text: str = ""
    blocks: list[dict[str, Any]] = field(default_factory=list)
    attachments: list[dict[str, Any]] = field(default_factory=list)
    act: str = ""
    body: dict[str, Any] = field(default_factory=dict)


class Transcript:
    """The last entries; `dropped` counts those before."""

    def __init__(self) -> None:
        self.entries: deque[Entry] = deque(maxlen=MAX_ENTRIES)
        self.dropped = 0

    def add(self, entry: Entry) -> None:
        self.dropped += len(self.entries) == MAX_ENTRIES
        self.entries.append(entry)

    def withdraw(self, entry: Entry) -> None:
        self.entries = deque((one for one in self.entries if one is not entry), maxlen=MAX_ENTRIES)
