"""What the dashboard does with an answer doesn't depend on any text of its card."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from shared.commands import parse
from shared.commands.result import Question, Result
from shared.commands.running.hold import Target
from shared.commands.running.pausing import SetStatus
from tests.clock import moment
from tests.shared.doubles import open_harness
from tests.translated import translate
from tui.feed.pending_changes import PendingChanges, Yes, run_command


async def test_a_change_is_pending_where_it_was_made_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    translate(monkeypatch)
    harness = open_harness()
    changes = PendingChanges(partial(run_command, harness.context), now=moment)
    question = await run_command(replace(harness.context, asks_always=True), parse("pause all for 2h"))
    assert isinstance(question, Question)
    act = question.choices[0].act
    assert isinstance(act, SetStatus)
    gone = replace(act, targets=(*act.targets, Target(id="sq_0", label="None")))
    done = await changes.run(Yes(act=gone))
    assert isinstance(done, Result)
    assert done.effect == "paused"
    assert set(changes.pending) == {one.id for one in act.targets}
