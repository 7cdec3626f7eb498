"""Open cards follow what is changed elsewhere, all of them, and cost nothing while nothing is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from bot.jobs.standings import CardRefresher
from bot.runtime import Wakeup
from shared.api.models import Sequence
from shared.store import Store


def refresher_of(store: Store) -> tuple[CardRefresher, list[Sequence], list[str]]:
    """A refresher, the sequences that its service knows, and what it asked for."""
    known: list[Sequence] = []
    planned: list[str] = []

    async def list_sequences() -> tuple[Sequence, ...]:
        return tuple(known)

    contexts: Any = SimpleNamespace(clients={"default": SimpleNamespace(list_sequences=list_sequences)})
    refresher = CardRefresher(store, contexts, soon=Wakeup(), planned=lambda: planned.append("repaint"))
    return refresher, known, planned


async def test_a_card_is_written_when_its_sequence_changes_and_not_at_each_look(
    store: Store, alert: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (subject,) = await store.alerts.sequences("default")
    refresher, known, planned = refresher_of(store)
    writes, write = list[object](), store.database.write

    async def counted(work: Any) -> Any:
        writes.append(work)
        return await write(work)

    monkeypatch.setattr(store.database, "write", counted)
    for status, expected in (("active", 0), ("paused", 1), ("paused", 1), ("active", 2), ("active", 2)):
        known[:] = [Sequence(id=subject, name=subject, status=status)]
        await refresher.refresh("default")
        assert (len(writes), len(planned)) == (expected, expected), status
