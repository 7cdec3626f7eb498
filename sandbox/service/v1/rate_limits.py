"""Ten requests a second per key, in three forms that real services use; the document does not say which."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

from sqlalchemy import Connection, select

from sandbox.service.base.schema import rates
from sandbox.service.base.storage import Storage, upsert

RATE = 10
WINDOW = 1.0

Spent = tuple[float, ...]
Verdict = tuple[Spent, float | None]


def fixed(spent: Spent, now: float) -> Verdict:
    """So many in each second of the clock; `spent` is (window, count)."""
    window = math.floor(now)
    count = spent[1] if len(spent) == 2 and spent[0] == window else 0.0
    if count >= RATE:
        return (window, count), window + WINDOW - now
    return (window, count + 1), None


def sliding(spent: Spent, now: float) -> Verdict:
    """So many in any second; `spent` are the moments of the last ones admitted."""
    recent = tuple(moment for moment in spent if now - WINDOW < moment <= now)
    if len(recent) >= RATE:
        return recent, recent[-RATE] + WINDOW - now
    return (*recent, now), None


def bucket(spent: Spent, now: float) -> Verdict:
    """A bucket of so many tokens, refilled steadily; `spent` is (tokens left, when)."""
    tokens, when = spent if len(spent) == 2 else (float(RATE), now)
    tokens = min(float(RATE), tokens + max(0.0, now - when) * RATE / WINDOW)
    if tokens < 1.0:
        return (tokens, now), (1.0 - tokens) * WINDOW / RATE
    return (tokens - 1.0, now), None


FORMS: dict[str, Callable[[Spent, float], Verdict]] = {"fixed": fixed, "sliding": sliding, "bucket": bucket}


class Limiter:
    """Admits requests by key; on a shared database all processes spend from the same row."""

    def __init__(self, storage: Storage, *, form: str = "sliding") -> None:
        self._storage = storage
        self._form = form
        self._spent: dict[str, Spent] = {}

    @property
    def form(self) -> str:
        """`fixed`, `sliding`, `bucket` or `off`."""
        return self._form

    def change(self, form: str) -> None:
        self._form = form
        self._spent.clear()

    async def admit(self, key: str, *, now: float) -> float | None:
        """Spend one request; None when it is admitted, else the seconds to wait."""
        rule = FORMS.get(self._form)
        if rule is None:
            return None
        if not self._storage.shared:
            self._spent[key], wait = rule(self._spent.get(key, ()), now)
            return wait
        name = f"{self._form} {key}"
        return await self._storage.write(_spend, name, rule=rule, now=now)


def _spend(
    connection: Connection, key: str, *, rule: Callable[[Spent, float], Verdict], now: float
) -> float | None:
    connection.execute(
        upsert(connection.dialect.name, rates).values(key=key, spent="[]").on_conflict_do_nothing()
    )
    row = connection.execute(select(rates.c.spent).where(rates.c.key == key).with_for_update()).one()
    spent, wait = rule(tuple(json.loads(row.spent)), now)
    connection.execute(rates.update().where(rates.c.key == key).values(spent=json.dumps(spent)))
    return wait


def retry_after(wait: float) -> int:
    """Whole seconds for the header, never too few (document: Limits)."""
    return max(1, math.ceil(wait))
