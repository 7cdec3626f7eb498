"""Clicks that fail, arrive late or take long, through Slack and the bot: the person always gets a true answer."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.interactions import responders
from bot.slack.manifest import manifest
from sandbox.slack import seed
from tests.bot.fake_service import Remote
from tests.bot.harness import HASTE, BotHarness, bot_inside, open_harness
from tests.bot.interactions.alert_bot import card, click, shown
from tests.waiting import until

NAME = "Q3 founders"
EARLY = 0.1
"""Seconds until an answer is announced as slow; what makes it slow lasts until the note is seen, or a second longer."""


@pytest.fixture
async def bot(tmp_path: Path, remote: Remote) -> AsyncIterator[BotHarness]:
    async with (
        open_harness(tmp_path, OUTREACH_BASE_URL=remote.url) as opened,
        bot_inside(opened, pace=HASTE),
    ):
        yield opened


async def test_a_slow_yes_takes_the_place_of_its_question_and_goes_with_the_answer(
    bot: BotHarness, remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    (question,) = await bot.say("pause all", user=seed.BEN.id)
    monkeypatch.setattr(responders, "PROGRESS_AFTER", EARLY)
    with remote.holding():
        await click(bot, question, "Pause Q3 founders", user=seed.BEN.id, wait=0)
        await shown(bot, question, "Working …")

    async def done() -> bool:
        return any("Q3 founders paused" in m["text"] for m in await bot.messages())

    await until(done)
    assert [m["text"] for m in await bot.messages() if "Working" in m["text"]] == []


async def test_a_card_whose_alert_was_forgotten_says_so(bot: BotHarness) -> None:
    message = await card(bot)
    assert bot.running is not None
    store = bot.running.store

    async def forgotten() -> bool:
        await store.retention.prune(bodies_after=-60, hashes_after=-60)
        return not (await store.records.open_replies("default")).replies

    await until(forgotten)
    for label in ("Claim", "Not interested …"):
        (answer,) = await click(bot, message, label)
        assert "no longer stored" in answer["text"]
        assert "`open`" not in answer["text"]
        assert answer["seen_by"] == seed.ANN.id
    assert await bot.running.store.records.audit("default") == []


async def test_a_form_sent_after_an_hour_does_what_it_says(bot: BotHarness, remote: Remote) -> None:
    (answer,) = await bot.say("pause", user=seed.BEN.id)
    await click(bot, answer, "Open form", user=seed.BEN.id)
    held = bot.slack.workspace  # what Slack hands out with a click ends within half an hour
    held.triggers.clear()
    held.response_urls.clear()
    person = {"user": seed.BEN.id}
    await bot.control("manifest", **manifest())
    offered = (await bot.control("options", view=True, action_id="sequence", value="Q3", **person))["options"]
    values = {"sequence": {"sequence": "sq_0001"}}
    response = await bot.control("view/submit", values=values, offered=offered, wait=10, **person)
    assert not response.get("errors")

    async def found() -> bool:
        return any(f"{NAME} paused" in m["text"] for m in await bot.messages())

    await until(found)


async def test_four_hundred_sequences_are_asked_about_in_a_question_that_fits(
    bot: BotHarness, remote: Remote
) -> None:
    for number in range(399):
        remote.add(f"{number} Batch {'🎉<!channel>' * 240}")
    (question,) = await bot.say("pause all for 2h", user=seed.BEN.id)
    assert re.fullmatch(
        r"Pause 400 active sequences\?: They stop sending until .*[0-9]{2}:[0-9]{2} [A-Z]+\. Replies still arrive\.",
        question["text"],
    )
    assert len(json.dumps(question["blocks"])) <= 13_200
    assert "and 385 more" in json.dumps(question)
    (listed,) = await bot.say("sequences", user=seed.BEN.id)
    assert len(json.dumps(listed["blocks"])) <= 13_200
    (answer,) = await bot.say("pause batch", user=seed.BEN.id)
    assert answer["seen_by"] == seed.BEN.id
    assert remote.patched == []


async def test_a_rejected_api_key_is_shown_in_forms_and_on_home(bot: BotHarness, remote: Remote) -> None:
    (answer,) = await bot.say("pause", user=seed.BEN.id)
    await click(bot, answer, "Open form", user=seed.BEN.id)
    person = {"user": seed.BEN.id}
    await bot.control("manifest", **manifest())
    response = await bot.control("options", view=True, action_id="sequence", value="Q3", **person)
    remote.refuses = 401
    values = {"sequence": {"sequence": "sq_0001"}}
    await bot.control("view/submit", values=values, offered=response["options"], **person)

    async def refused() -> bool:
        async with bot.http.get(f"{bot.slack.origin}/control/state") as state:
            body = json.dumps((await state.json())["views"], ensure_ascii=False)
        return "rejects the API key" in body and "ref-" in body

    await until(refused)
    view = await bot.home(person["user"])
    assert "API key" in json.dumps(view, ensure_ascii=False)
    assert remote.patched == []


async def test_an_answer_to_an_expired_response_url_is_sent_directly(bot: BotHarness, remote: Remote) -> None:
    remote.seconds = 1.0
    message = await card(bot)
    clicking = asyncio.ensure_future(click(bot, message, "Pause sequence", user=seed.BEN.id, wait=0))

    async def handed_out() -> bool:
        return bool(bot.slack.workspace.response_urls)

    await until(handed_out)
    for reply in bot.slack.workspace.response_urls.values():
        reply.uses = 5
    await clicking

    async def found() -> bool:
        return any(f"{NAME} paused" in m["text"] for m in await bot.messages())

    await until(found)
    assert [reply.uses for reply in bot.slack.workspace.response_urls.values()] == [5]
