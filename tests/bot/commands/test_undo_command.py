"""`undo`: the person's own last pause or resumption, asked about first, and never what somebody changed since."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from sandbox.slack import seed
from shared.store.db.schema import audit
from tests.bot.fake_service import Remote
from tests.bot.harness import HASTE, BotHarness, bot_inside, open_harness
from tests.bot.interactions.test_clicks import click

SEQUENCES = ("Q3 founders", "Q3 CTO", "EMEA agencies")


@pytest.fixture
async def bot(tmp_path: Path, remote: Remote) -> AsyncIterator[BotHarness]:
    async with (
        open_harness(tmp_path, OUTREACH_BASE_URL=remote.url) as opened,
        bot_inside(opened, pace=HASTE),
    ):
        yield opened


def statuses(remote: Remote) -> list[str]:
    return [one["status"] for one in remote.sequences.values()]


async def asked(bot: BotHarness, user: str) -> tuple[dict[str, Any], str]:
    (answer,) = await bot.say("undo", user=user)
    return answer, json.dumps(answer, ensure_ascii=False)


async def test_undo_says_what_it_does_and_takes_the_last_change_back(bot: BotHarness, remote: Remote) -> None:
    await bot.say("pause Q3 founders reason a holiday", user=seed.BEN.id)
    question, shown = await asked(bot, seed.BEN.id)
    assert question["seen_by"] == seed.BEN.id
    assert "Undo “pause Q3 founders reason a holiday” of" in shown
    assert "This resumes Q3 founders." in shown
    assert statuses(remote) == ["paused", "active", "active"]
    (done,) = await click(bot, question, "Resume 1 sequence", user=seed.BEN.id)
    assert done["text"].startswith("Q3 founders is active again")
    assert statuses(remote) == ["active", "active", "active"]
    assert bot.running is not None
    newest = (await bot.running.store.records.audit("default"))[0]
    assert (newest.actor.name, newest.effect, newest.sequences) == ("ben", "resumed", ("sq_0001",))


async def test_undo_of_several_takes_back_only_what_was_changed(bot: BotHarness, remote: Remote) -> None:
    await bot.say("pause Q3 CTO for 1h", user=seed.CLEO.id)
    (question,) = await bot.say("pause all", user=seed.BEN.id)
    await click(bot, question, "Pause all 2", user=seed.BEN.id)
    assert statuses(remote) == ["paused"] * 3
    question, shown = await asked(bot, seed.BEN.id)
    assert "This resumes Q3 founders, EMEA agencies." in shown
    assert "This pauses Q3 CTO until" in shown
    await click(bot, question, "Undo 3 changes", user=seed.BEN.id)
    assert statuses(remote) == ["active", "paused", "active"]
    assert bot.running is not None
    (timer,) = await bot.running.store.records.timers("default", "resume")
    assert timer.key == "sq_0002"


async def test_undo_is_of_ones_own_change_and_within_ten_minutes(bot: BotHarness, remote: Remote) -> None:
    await bot.say("pause Q3 founders", user=seed.BEN.id)
    _, shown = await asked(bot, seed.CLEO.id)
    assert "Nothing to undo" in shown
    assert bot.running is not None
    earlier = sa.update(audit).values(at=audit.c.at - 601)
    await bot.running.store.database.write(lambda tx: tx.execute(earlier))
    _, shown = await asked(bot, seed.BEN.id)
    assert "Nothing to undo" in shown
    assert statuses(remote) == ["paused", "active", "active"]


async def test_a_later_change_of_somebody_else_stays(bot: BotHarness, remote: Remote) -> None:
    await bot.say("pause Q3 founders", user=seed.BEN.id)
    question, _ = await asked(bot, seed.BEN.id)
    await bot.say("resume Q3 founders", user=seed.CLEO.id)
    await bot.say("pause Q3 founders", user=seed.CLEO.id)
    (refused,) = await click(bot, question, "Resume 1 sequence", user=seed.BEN.id)
    shown = json.dumps(refused, ensure_ascii=False)
    assert "Not undone: it was changed later" in shown
    assert "Last change: @cleo at" in shown
    _, shown = await asked(bot, seed.BEN.id)
    assert "Not undone: it was changed later" in shown
    assert statuses(remote) == ["paused", "active", "active"]


async def test_a_question_means_the_change_that_it_named(bot: BotHarness, remote: Remote) -> None:
    await bot.say("pause Q3 founders", user=seed.BEN.id)
    question, _ = await asked(bot, seed.BEN.id)
    await bot.say("pause Q3 CTO", user=seed.BEN.id)
    await click(bot, question, "Resume 1 sequence", user=seed.BEN.id)
    assert statuses(remote) == ["active", "paused", "active"]


async def test_undo_of_a_resumption_pauses_again_and_a_guest_may_not(bot: BotHarness, remote: Remote) -> None:
    await bot.say("pause Q3 founders", user=seed.CLEO.id)
    await bot.say("resume Q3 founders", user=seed.BEN.id)
    _, shown = await asked(bot, seed.GUS.id)
    assert "You don't have permission to run “undo” here" in shown.replace("\\u201c", "“")
    question, shown = await asked(bot, seed.BEN.id)
    assert "This pauses Q3 founders without an end." in shown
    await click(bot, question, "Pause 1 sequence", user=seed.BEN.id)
    assert statuses(remote) == ["paused", "active", "active"]
