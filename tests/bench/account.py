"""A service with one account of many inboxes: counts grow through each day, and health is another every day."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date, timedelta
from urllib.parse import parse_qs, urlsplit

from tests.bench.agency import NOBODY, Backend
from tests.clock import moment

DOMAINS, SEQUENCES = 50, 12
SENDS = 30
"""Of an inbox a day."""


def address(number: int) -> str:
    return f"sam{number}@mail{number % DOMAINS}.example"


@dataclass(kw_only=True)
class Account(Backend):
    """`serve` its connections; what it answers depends on the clock of this process."""

    inboxes: int = 1_000

    def answer(self, path: str, headers: dict[str, str], body: bytes) -> bytes:
        self.requests[headers.get("authorization", "")] += 1
        asked = urlsplit(path)
        match asked.path.rpartition("/")[2]:
            case "sequences":
                rows = [
                    {"id": f"sq_{n}", "name": f"Sequence {n}", "status": "active", "steps": 4}
                    for n in range(SEQUENCES)
                ]
            case "inboxes":
                rows = self._inboxes()
            case "stats":
                rows = self._stats({name: values[0] for name, values in parse_qs(asked.query).items()})
            case _:
                return NOBODY
        return json.dumps({"data": rows, "next_cursor": None}).encode()

    def _inboxes(self) -> list[dict[str, object]]:
        day = moment().toordinal()
        return [
            {
                "id": f"in_{n}",
                "email": address(n),
                "health_score": 60 + (n * 7 + day * 3) % 40,
                "daily_limit": 40,
                "status": "active",
            }
            for n in range(self.inboxes)
        ]

    def _stats(self, asked: dict[str, str]) -> list[dict[str, object]]:
        now = moment()
        first = date.fromisoformat(asked.get("from", str(now.date() - timedelta(days=30))))
        last = date.fromisoformat(asked.get("to", str(now.date())))
        days = (min(last, now.date()) - first).days + (now.hour / 24 if last >= now.date() else 1)
        groups = {
            "inbox": [f"in_{n}" for n in range(self.inboxes)],
            "sequence": [f"sq_{n}" for n in range(SEQUENCES)],
        }.get(asked.get("group_by", ""), ["all"])
        share = self.inboxes / len(groups)
        return [
            {
                "group": group,
                "sends": int(SENDS * share * days) + number % 3,
                "replies": int(share * days),
                "positive_replies": int(0.2 * share * days),
                "meetings": 0,
            }
            for number, group in enumerate(groups)
        ]
