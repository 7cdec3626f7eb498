"""`pause` and `undo` where the service or the database fails."""

from __future__ import annotations

import pytest

from shared.commands import parse
from shared.commands.pause import Pause
from shared.commands.run import NO_RECORDS
from shared.domain.card import Tone
from shared.records.records import RecordsUnavailable
from tests.shared.harness import DOWN, CommandHarness, facts, text


async def test_a_status_that_is_unknown_is_set_anyway(harness: CommandHarness) -> None:
    del harness.service.sequences[2]["status"]
    await harness.say("pause Spring")
    assert harness.service.asked("PATCH") == ["/sequences/sq_3"]


@pytest.mark.parametrize("fails", [False, True])
async def test_automatic_resumption_is_promised_only_where_a_bot_runs(
    harness: CommandHarness, monkeypatch: pytest.MonkeyPatch, *, fails: bool
) -> None:
    await harness.store.instance.leave("1")
    if fails:  # the database, after the pause
        monkeypatch.setattr(type(harness.records), "bot_is_running", DOWN.bot_is_running)
    card = await harness.say("pause sq_1 for 2h")
    assert card.tone is Tone.WARN
    assert "automatically" not in text(card)
    assert "outreach bot" in text(card)
    assert harness.service.sequences[0]["status"] == "paused"
    several = await harness.answer(await harness.say("pause all for 3h reason bounces"))
    assert several.tone is Tone.WARN
    assert "outreach bot" in text(several)
    assert facts(several)["Reason"] == "bounces"


async def test_without_records_a_pause_with_a_duration_is_refused_and_without_one_works(
    harness: CommandHarness,
) -> None:
    harness.records = None
    card = await harness.say("pause sq_1 for 2h")
    assert card.tone is Tone.WARN
    assert [parse(button.line).arguments for button in card.buttons] == [Pause(target=("sq_1",))]
    assert harness.service.asked("PATCH") == []
    assert NO_RECORDS in (await harness.say("pause sq_1")).footer
    assert harness.service.sequences[0]["status"] == "paused"


async def test_a_timer_that_cannot_be_set_leaves_nothing_paused(harness: CommandHarness) -> None:
    harness.records = DOWN
    with pytest.raises(RecordsUnavailable):
        await harness.say("pause sq_1 for 2h")
    assert harness.service.asked("PATCH") == []


async def test_a_failed_audit_entry_is_reported_and_undoes_nothing(harness: CommandHarness) -> None:
    harness.records = DOWN
    card = await harness.say("pause sq_1")
    assert harness.service.sequences[0]["status"] == "paused"
    assert "the database is gone" in card.footer
