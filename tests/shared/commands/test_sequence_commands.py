"""`sequences`, `pause` and `resume`, over the real client."""

from __future__ import annotations

import httpx
import pytest

from shared.api.errors import OutreachError, Refused
from shared.commands import parse
from shared.commands.pause import Pause
from shared.commands.run import NO_RECORDS
from shared.domain.card import Tone
from shared.records.records import RecordsUnavailable
from tests.shared.doubles import CommandHarness, MemoryRecords, text


def results(harness: CommandHarness) -> list[str]:
    assert harness.records is not None
    return [entry.result for entry in harness.records.entries]


async def test_a_status_that_is_unknown_is_set_anyway(harness: CommandHarness) -> None:
    del harness.service.sequences[2]["status"]
    await harness.say("pause Spring")
    assert harness.service.asked("PATCH") == ["/sequences/sq_3"]


@pytest.mark.parametrize("records", [MemoryRecords(bot_runs=False), None])
async def test_automatic_resumption_is_promised_only_where_a_bot_runs(
    harness: CommandHarness, records: MemoryRecords | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if records is None:  # the database fails after the pause
        monkeypatch.setattr(MemoryRecords, "bot_is_running", _unavailable)
    harness.records = records or harness.records
    card = await harness.say("pause sq_1 for 2h")
    assert card.tone is Tone.WARN
    assert "automatically" not in text(card)
    assert "outreach bot" in text(card)
    assert harness.service.sequences[0]["status"] == "paused"


async def _unavailable(_records: MemoryRecords) -> bool:
    raise RecordsUnavailable("the database is gone")


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
    harness.records = MemoryRecords(broken=True)
    with pytest.raises(RecordsUnavailable):
        await harness.say("pause sq_1 for 2h")
    assert harness.service.asked("PATCH") == []


async def test_a_pause_that_fails_takes_its_timer_back_and_is_in_the_audit(harness: CommandHarness) -> None:
    assert harness.records is not None
    refusal = httpx.Response(400, json={"error": {"field": "status"}})
    with harness.failing("PATCH /sequences", refusal), pytest.raises(Refused):
        await harness.say("pause sq_1 for 2h")
    assert harness.records.planned == {}
    assert results(harness)[0].startswith("failed: ")


async def test_an_uncertain_pause_keeps_its_timer(harness: CommandHarness) -> None:
    assert harness.records is not None
    with harness.failing("PATCH /sequences", httpx.ReadError("cut")), pytest.raises(OutreachError):
        await harness.say("pause sq_1 for 2h")
    assert ("resume", "sq_1") in harness.records.planned


async def test_a_failed_audit_entry_is_reported_and_undoes_nothing(harness: CommandHarness) -> None:
    harness.records = MemoryRecords(broken=True)
    card = await harness.say("pause sq_1")
    assert harness.service.sequences[0]["status"] == "paused"
    assert "the database is gone" in card.footer


async def test_an_undo_asks_the_service_for_no_list(harness: CommandHarness) -> None:
    card = await harness.say("pause sq_1")
    before = len(harness.service.asked("GET"))
    done = await harness.press(card, "Undo")
    assert done.title == "Q3 Founders is active again"
    assert len(harness.service.asked("GET")) == before
