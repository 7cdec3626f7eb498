"""An alert's row: its event is decoded once, and what is kept of it outlives its words."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bot.alerts.reminders import reminder_card
from shared.domain.alert import Alert
from shared.store.alerts import Due

NOW = datetime(2026, 11, 20, 9, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(("kind", "offered"), [("reply.interested", ["Claim"]), ("reply.ooo", [])])
def test_a_reminder_is_of_the_kind_of_its_alert_when_the_words_are_deleted(
    kind: str, offered: list[str]
) -> None:
    due = Due(alert=Alert(id="al_1", kind=kind, snoozed_name="ann"), channel="C1", what="back")
    assert [button.label for button in reminder_card(due, now=NOW).buttons] == offered
