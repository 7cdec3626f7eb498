"""Open cards follow what is changed elsewhere, and cost nothing while nothing is."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import SimpleNamespace
from typing import Any

import pytest

from bot.jobs.card_refresh import CardRefresher
from bot.runtime.wakeup import Wakeup
from bot.store import Store
from shared.api.models import Sequence


async def test_a_card_is_written_when_its_sequence_changes_and_not_at_each_look(
    store: Store, alert: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (subject,) = await store.subjects.watched("default")
    known = [Sequence(id=subject.sequence, name=subject.sequence, status="active")]
    planned: list[str] = []

    async def list_sequences() -> tuple[Sequence, ...]:
        return tuple(known)

    async def nothing(_workspace: str, _at: datetime) -> Mapping[str, tuple[float | None, float | None]]:
        return {}

    contexts: Any = SimpleNamespace(clients={"default": SimpleNamespace(list_sequences=list_sequences)})
    refresher = CardRefresher(
        store, contexts, yesterday=nothing, soon=Wakeup(), planned=lambda: planned.append("repaint")
    )
    writes, write = list[object](), store.database.write

    async def counted(work: Any) -> Any:
        writes.append(work)
        return await write(work)

    monkeypatch.setattr(store.database, "write", counted)
    for status, expected in (("active", 0), ("paused", 1), ("paused", 1), ("active", 2), ("active", 2)):
        known[0] = Sequence(id=subject.sequence, name=subject.sequence, status=status)
        await refresher.refresh("default")
        assert (len(writes), len(planned)) == (expected, expected), status
