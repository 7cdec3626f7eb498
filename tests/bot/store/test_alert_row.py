"""An alert's row: its event is decoded once, and what is kept of it outlives its words."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bot.alerts import rendering
from bot.alerts.reminders import reminder_card
from shared.api.events import Event, Unknown, read_event
from shared.store import Store, rows
from shared.store.alerts import Due
from shared.store.rows import AlertRow
from tests.bot.harness import interested
from tests.bot.manual_clock import ManualClock, arrive, post_all

NOW = datetime(2026, 11, 20, 9, tzinfo=UTC).timestamp()


async def test_a_card_decodes_its_event_once_and_a_turn_none(
    store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await arrive(store, interested(1))
    decoded: list[bytes] = []

    def count(body: bytes) -> Event | Unknown:
        decoded.append(body)
        return read_event(body)

    monkeypatch.setattr(rows, "read_event", count)
    (post,) = await post_all(store, clock)
    assert decoded == []
    for _ in range(2):
        rendering.message([post], several=False)
    assert decoded == [interested(1)]


@pytest.mark.parametrize(("kind", "offered"), [("reply.interested", ["Claim"]), ("reply.ooo", [])])
def test_a_reminder_is_of_the_kind_of_its_alert_when_the_words_are_deleted(
    kind: str, offered: list[str]
) -> None:
    due = Due(alert=AlertRow(id="al_1", kind=kind, snoozed_name="ann"), channel="C1", what="back")
    assert [button.label for button in reminder_card(due, now=NOW).buttons] == offered
