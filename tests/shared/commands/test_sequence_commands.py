"""`pause` and `undo` where the service or the database fails."""

from __future__ import annotations

import pytest

from shared.commands import UsageError
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
    # Only a bot resumes a sequence: where none runs, the promise would leave it paused.
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


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("pause sq_1 for a while", "“a while” isn't a duration"),
        ("pause sq_1 for", "For how long?"),
        ("pause sq_1 until", "Until when?"),
        ("pause sq_1 for 2x", "“2x” isn't a duration"),
        ("pause sq_1 for 99999d", "1h30m"),
        ("pause sq_1 bounces", "A reason comes after `reason`"),
        ("pause sq_1 for two days please", "`for 2d`"),
        ("pause sq_1 tomorrow", "`until tomorrow`"),
        ("pause founders monday 9am", "`until monday 09:00`"),
        ("pause sq_1 til tomorow morning", "`until tomorrow 09:00`"),
        ("pause sq_1 until mondy", "`until monday`"),
        ("pause all for a while", "“a while” isn't a duration"),
        ("pause domain:acme.com for soon", "“soon” isn't a duration"),
    ],
)
async def test_words_that_tell_no_end_pause_nothing(harness: CommandHarness, line: str, says: str) -> None:
    with pytest.raises(UsageError) as refused:
        await harness.say(line)
    card = refused.value.card
    assert says in "\n".join((card.title, *card.text))
    for button in card.buttons:  # with the end that was nearly said
        assert button.line.endswith(says.strip("`"))
    assert harness.service.asked("PATCH") == []


async def test_a_timer_that_cannot_be_set_leaves_nothing_paused(harness: CommandHarness) -> None:
    harness.records = DOWN
    # The timer is set first: a pause whose end is lost would never end.
    with pytest.raises(RecordsUnavailable):
        await harness.say("pause sq_1 for 2h")
    assert harness.service.asked("PATCH") == []


async def test_a_failed_audit_entry_is_reported_and_undoes_nothing(harness: CommandHarness) -> None:
    harness.records = DOWN
    # In a crisis it counts that nothing is sent: a log that can't be written must not prevent that.
    card = await harness.say("pause sq_1")
    assert harness.service.sequences[0]["status"] == "paused"
    assert "the database is gone" in card.footer
