"""What the dashboard does with an answer doesn't depend on any text of its card."""

from __future__ import annotations

from functools import partial

import pytest

from shared.api.models import Sequence
from tests.clock import moment
from tests.shared.doubles import open_harness
from tests.translated import translate
from tui.feed.pending_changes import PendingChanges, StatusChange, run_command


async def test_a_change_is_pending_where_it_was_made_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    translate(monkeypatch)
    harness = open_harness()
    changes = PendingChanges(partial(run_command, harness.context), now=moment)
    made = StatusChange(
        sequence=Sequence(id="sq_1", name="Q3 Founders", status="active"), status="paused", hours=2
    )
    refused = StatusChange(sequence=Sequence(id="sq_0", name="None", status="active"), status="paused")
    results = await changes.carry_out((made, refused))
    assert [one.effect for one in results] == ["paused", "refused"]
    assert set(changes.pending) == {"sq_1"}
    (back,) = changes.undo()
    assert back.asked.arguments == results[0].undo
