"""Open cards follow what is changed elsewhere, all of them, and cost nothing while nothing is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa

from bot.jobs.standings import CardRefresher
from bot.runtime import Wakeup
from shared.api.models import Sequence
from shared.records.audit import Actor
from shared.store import Store, open_store
from shared.store.alerts import CARDS_AT_ONCE
from shared.store.db.engine import Transaction
from shared.store.db.schema import alerts, deliveries
from tests.bot.harness import interested
from tests.bot.manual_clock import ManualClock, arrive
from tests.kit.growth import database_work


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


CARDS = 1_100


async def test_every_open_card_follows_its_sequence_however_many_and_old(
    url: sa.URL, clock: ManualClock
) -> None:
    async with open_store(url, clock=clock) as store:
        await arrive(store, *(interested(number, sequence="Q3") for number in range(3)))
        one, done, other = await store.database.read(
            lambda tx: tx.scalars(sa.select(alerts.c.id).order_by(alerts.c.delivery_id)).all()
        )
        await store.database.write(lambda tx: copy_alert(tx, one, CARDS, days=25))
        await store.alerts.act(done, "done", Actor(name="ann", id="U1"))
        await store.database.write(
            lambda tx: tx.execute(sa.update(alerts).where(alerts.c.id == other).values(sequence="Q4"))
        )
        refresher, known, _ = refresher_of(store)
        turned = sa.select(sa.func.count()).where(alerts.c.standing != "")
        for status, expected in (("paused", CARDS + 1), ("active", 0)):
            known[:] = [
                Sequence(id="sq_1", name="q3", status=status),
                Sequence(id="sq_2", name="Q4", status="active"),
            ]
            with database_work(store.database.engine) as work:
                await refresher.refresh("default")
            assert work.most_written <= 2 * CARDS_AT_ONCE, "the intake waits for one portion"
            assert await store.database.read(lambda tx: tx.scalar(turned)) == expected
            with database_work(store.database.engine) as work:
                await refresher.refresh("default")
            assert work.written == 0, "nothing has changed"
            assert work.statements <= 6, "three, each with a BEGIN on SQLite"


def copy_alert(tx: Transaction, alert: str, count: int, *, days: int) -> None:
    """As many alerts like this one, received over so many days before it."""
    number = sa.select(alerts.c.delivery_id).where(alerts.c.id == alert).scalar_subquery()
    delivery = tx.execute(sa.select(deliveries).where(deliveries.c.id == number)).one()._asdict()
    row = tx.execute(sa.select(alerts).where(alerts.c.id == alert)).one()._asdict()
    at = {10_000 + n: row["received_at"] - n * days * 86_400 / count for n in range(count)}
    copies = [{**delivery, "id": n, "dkey": b"%d" % n, "received_at": at[n]} for n in at]
    tx.execute(sa.insert(deliveries), copies)
    copies = [{**row, "id": f"{alert}_{n}", "delivery_id": n, "received_at": at[n]} for n in at]
    tx.execute(sa.insert(alerts), copies)
