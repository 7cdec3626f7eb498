"""`sequences`, `pause` and `resume`, over the real client."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import httpx
import pytest

from shared.api.errors import OutreachError, Refused, Uncertain
from shared.commands import UsageError, parse
from shared.commands.pause import Pause
from shared.commands.run import NO_RECORDS
from shared.domain.card import Tone
from shared.records.audit import Actor
from shared.records.records import RecordsUnavailable
from shared.records.sequence_changes import Timer
from tests.shared.doubles import NOW, CommandHarness, MemoryRecords, facts, text


def results(harness: CommandHarness) -> list[str]:
    assert harness.records is not None
    return [entry.result for entry in harness.records.entries]


async def test_sequences_are_listed_with_the_documents_words(harness: CommandHarness) -> None:
    card = await harness.say("sequences")
    assert card.data is not None
    assert card.data[1] == {"id": "sq_2", "name": "Q3 CTO", "status": "paused", "steps": 3}
    assert card.text == ("2 active, 1 paused",)
    only = await harness.say("sequences paused")
    assert [row["id"] for row in only.data or ()] == ["sq_2"]


async def test_missing_fields_of_a_sequence_are_unknown(harness: CommandHarness) -> None:
    harness.service.sequences = [{"id": "sq_9"}]
    card = await harness.say("sequences")
    assert card.data == ({"id": "sq_9", "name": None, "status": None, "steps": None},)
    assert card.table is not None
    assert card.table.rows[0].tone is Tone.UNKNOWN


async def test_pause_pauses_offers_undo_and_is_in_the_audit(harness: CommandHarness) -> None:
    card = await harness.say("pause founders reason bounces are high")
    assert card.title == "Q3 Founders is paused"
    assert facts(card)["Reason"] == "bounces are high"
    assert (card.buttons[0].label, card.buttons[0].line) == ("Undo", "undo")
    assert harness.service.sequences[0]["status"] == "paused"
    assert results(harness) == ["Q3 Founders is paused"]
    assert harness.records is not None
    assert harness.records.entries[0].command == "pause founders reason bounces are high"


@pytest.mark.parametrize(
    ("words", "until"),
    [
        ("2h", "16:30 UTC"),
        ("for 2h", "16:30 UTC"),
        ("for 2 hours", "16:30 UTC"),
        ("til monday 9am", "16 Mar 09:00 UTC"),
        ("for a week", "17 Mar 14:30 UTC"),
        ("for the weekend", "16 Mar 09:00 UTC"),
        ("til friday", "13 Mar 09:00 UTC"),
        ("until tomorrow morning", "11 Mar 09:00 UTC"),
        ("2h reason a holiday", "16:30 UTC"),
    ],
)
async def test_a_pause_ends_when_it_was_asked_to(harness: CommandHarness, words: str, until: str) -> None:
    card = await harness.say(f"pause spring {words}")
    assert card.title == f"Spring is paused until {until}"
    assert harness.records is not None
    assert ("resume", "sq_3") in harness.records.planned
    assert facts(card).get("Reason") == ("a holiday" if "reason" in words else None)


@pytest.mark.parametrize(
    ("words", "buttons"),
    [
        ("for soon", []),
        ("it is over", []),
        ("for a wek", ["pause sq_3 for 7d"]),
        ("for the wekend", ["pause sq_3 until next monday"]),
        ("2h please", ["pause sq_3 for 2h"]),
        ("tomorrow 9:00", ["pause sq_3 until tomorrow 09:00"]),
    ],
)
async def test_words_that_tell_no_end_pause_nothing_and_are_no_reason(
    harness: CommandHarness, words: str, buttons: list[str]
) -> None:
    card = await harness.say(f"pause spring {words}")
    assert [button.line for button in card.buttons] == buttons
    assert "A reason comes after `reason`." in text(card)
    assert harness.service.asked("PATCH") == []
    assert results(harness) == ["refused: no duration"]


@pytest.mark.parametrize(
    ("line", "near"),
    [
        ("pause spring until tomorrow mornin", "until tomorrow 09:00"),
        ("pause all 2h please", "for 2h"),
        ("pause spring for two hours please", "for 2h"),
        ('pause "spring" for a wek', "for 7d"),
        ("pause spring til mondy", "until monday"),
        ("pause all for the wekend", "until next monday"),
    ],
)
def test_a_misspelled_end_is_refused_with_the_nearest(line: str, near: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse(line)
    assert near in str(refused.value)


async def test_no_button_pauses_without_the_end_that_was_asked(harness: CommandHarness) -> None:
    for line in ("pause sprong for soon", "pause q3 for soon", "pause sprong for 2h"):
        card = await harness.say(line)
        assert all("for 2h" in button.line for button in card.buttons if "pause" in button.line), line
    assert harness.service.asked("PATCH") == []


async def test_pausing_what_is_paused_says_so_and_asks_nothing_of_the_service(
    harness: CommandHarness,
) -> None:
    card = await harness.say("pause sq_2")
    assert card.title == "Q3 CTO is already paused"
    assert harness.service.asked("PATCH") == []


async def test_a_status_that_is_unknown_is_set_anyway(harness: CommandHarness) -> None:
    del harness.service.sequences[2]["status"]
    await harness.say("pause Spring")
    assert harness.service.asked("PATCH") == ["/sequences/sq_3"]


async def test_several_that_fit_are_offered_and_nothing_changes(harness: CommandHarness) -> None:
    card = await harness.say("pause q3 for 2h")
    assert [button.line for button in card.buttons] == ["pause sq_1 for 2h", "pause sq_2 for 2h"]
    assert harness.service.asked("PATCH") == []
    assert results(harness) == ["refused: no single sequence"]


async def test_a_pause_with_a_duration_plans_the_resumption(harness: CommandHarness) -> None:
    card = await harness.say("pause sq_1 for 2h")
    assert card.title == "Q3 Founders is paused until 16:30 UTC"
    assert harness.records is not None
    timer = harness.records.planned["resume", "sq_1"]
    assert (timer.due_at, timer.payload["by"]) == (NOW + timedelta(hours=2), "ann")
    assert card.text == ("It resumes automatically.",)


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


@pytest.mark.parametrize("line", ["resume sq_2", "pause sq_2"])
async def test_a_change_of_mind_ends_the_planned_resumption(harness: CommandHarness, line: str) -> None:
    assert harness.records is not None
    harness.records.planned["resume", "sq_2"] = Timer(kind="resume", key="sq_2", due_at=NOW)
    card = await harness.say(line)
    card = await harness.answer(card) if card.question else card
    assert harness.records.planned == {}
    assert "no longer resumes automatically" in card.footer


async def test_resume_resumes_and_says_so_when_it_was_active(harness: CommandHarness) -> None:
    card = await harness.say("resume Q3 CTO")
    assert (card.title, card.buttons[0].line) == ("Q3 CTO is active again", "undo")
    again = await harness.say("resume Q3 CTO")
    assert again.title == "Q3 CTO is already active"
    assert harness.service.asked("PATCH") == ["/sequences/sq_2"]


async def test_an_unknown_sequence_names_the_nearest(harness: CommandHarness) -> None:
    card = await harness.say("resume Sprign")
    assert "Sprign" in text(card)
    assert [button.line for button in card.buttons] == ["resume sq_3"]


async def test_a_failed_audit_entry_is_reported_and_undoes_nothing(harness: CommandHarness) -> None:
    harness.records = MemoryRecords(broken=True)
    card = await harness.say("pause sq_1")
    assert harness.service.sequences[0]["status"] == "paused"
    assert "the database is gone" in card.footer


async def test_who_paused_in_a_shell_is_named_as_in_the_audit(harness: CommandHarness) -> None:
    harness.actor = Actor(name="root", face="shell")
    await harness.say("pause sq_1")
    card = await harness.say("sequences paused")
    assert card.table is not None
    shown = {row.cells[-1]: row.cells[1] for row in card.table.rows}
    assert shown["sq_1"] == "root"


async def test_a_part_of_an_id_names_no_sequence_and_changes_nothing(harness: CommandHarness) -> None:
    harness.service.sequences[0] |= {"id": "sq_x8jz", "name": "IT services"}
    for line in ("pause sq_x", "pause it", "pause sq_x for 2h"):
        card = await harness.say(line)
        assert card.title.startswith("No sequence is named"), line
    assert harness.service.asked("PATCH") == []


async def test_all_is_every_sequence_beside_one_whose_name_begins_so(harness: CommandHarness) -> None:
    harness.service.sequences[0]["name"] = "Allied founders"
    harness.service.sequences[2]["name"] = "All"
    question = await harness.say("pause all")
    assert question.title == "Pause 2 active sequences?"
    assert harness.service.asked("PATCH") == []
    assert (await harness.say("pause alli")).title == "Allied founders is paused"


async def test_an_answer_with_the_old_status_is_no_pause(harness: CommandHarness) -> None:
    same = httpx.Response(200, json={"id": "sq_1", "name": "Q3 Founders", "status": "active"})
    with harness.failing("PATCH /sequences", same), pytest.raises(OutreachError) as told:
        await harness.say("pause sq_1")
    assert "still active" in str(told.value)
    assert results(harness)[0].startswith("failed: ")
    assert harness.records is not None
    assert harness.records.changes.counts["sq_1"] == 0, "nothing was changed"


async def test_an_answer_that_the_list_contradicts_is_not_believed_either_way(
    harness: CommandHarness,
) -> None:
    old = httpx.Response(200, json={"id": "sq_2", "name": "Q3 CTO", "status": "paused"})
    harness.service.sequences[1]["status"] = "paused"

    listing, calls = harness.client.list_sequences, 0

    async def list_sequences(**named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            harness.service.sequences[1]["status"] = "active"
        return await listing(**named)

    harness.client.list_sequences = list_sequences  # type: ignore[method-assign]
    with harness.failing("PATCH /sequences", old), pytest.raises(Uncertain):
        await harness.say("resume sq_2")


async def test_an_undo_asks_the_service_for_no_list(harness: CommandHarness) -> None:
    card = await harness.say("pause sq_1")
    before = len(harness.service.asked("GET"))
    done = await harness.press(card, "Undo")
    assert done.title == "Q3 Founders is active again"
    assert len(harness.service.asked("GET")) == before
