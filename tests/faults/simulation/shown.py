"""What the channels show, counted as messages come and change: a look at all of them every second takes hours."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

SUBJECT = re.compile(r"ada(\d+)@acme\.example|Ada (\d+) at Acme|(mail-\d+\.example)")
"""What only the messages of one delivery say: the address on a card, the name in a list."""


class Shown:
    """The messages of all channels, by what they show; `violated` gets what is there twice."""

    def __init__(self) -> None:
        self.violated: Callable[[str], None] = lambda _what: None
        self._counts: defaultdict[str, Counter[object]] = defaultdict(Counter)
        self._marks: dict[tuple[str, str], Counter[object]] = {}

    def put(self, channel: str, message: Mapping[str, Any]) -> None:
        """Count a message that was posted, or edited."""
        counts, place = self._counts[channel], (channel, message["ts"])
        counts.subtract(self._marks.get(place, {}))
        marks = self._marks[place] = _marks(message)
        counts.update(marks)
        for mark in marks:
            if isinstance(mark, str) and counts[mark] > 1:
                self.violated(f"{mark} is {counts[mark]} times in {channel}")

    def refused(self, channel: str, message: Mapping[str, Any]) -> None:
        """It stays as it is, so that what it shows may come once more."""
        marks, place = self._marks[channel, message["ts"]], (channel, message["ts"])
        self._marks[place] = Counter(
            {mark: count for mark, count in marks.items() if not isinstance(mark, str)}
        )
        self._counts[channel].subtract(marks)
        self._counts[channel].update(self._marks[place])

    def has(self, channel: str, alert: str, subject: str) -> bool:
        """Whether a message there is about an alert, and says what it should."""
        return self._counts[channel][alert, subject] > 0


def _marks(message: Mapping[str, Any]) -> Counter[object]:
    """The message's key, its alerts and, of a card, its subjects: each may be in a channel once. With pairs of both."""
    payload = (message.get("metadata") or {}).get("event_payload") or {}
    key = str(payload.get("key") or "")
    alerts = list(payload.get("alert_ids") or filter(None, [payload.get("alert_id")]))
    subjects = {
        domain or f"ada{by_address or by_name}@acme.example"
        for by_address, by_name, domain in SUBJECT.findall(message["all"])
    }
    # A list may name an alert also in a reminder of it.
    once = [key] * bool(key) + alerts + sorted(subjects) * bool(alerts and not key.startswith("b"))
    return Counter([*once, *product(sorted(set(alerts)), sorted(subjects))])
