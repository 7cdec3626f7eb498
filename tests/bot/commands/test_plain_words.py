"""Requests in plain words to the bot: reads are answered, changes are asked for, the rest offers what is near."""

from __future__ import annotations

import json
from typing import Any

from sandbox.slack import seed
from tests.bot.commands.test_slash_commands import BotWithService, served

__all__ = ["served"]


def texts(messages: list[dict[str, Any]]) -> str:
    return " ".join(one["text"] for one in messages)


async def test_a_read_is_answered_and_names_its_command(served: BotWithService) -> None:
    answer = json.dumps(await served.bot.say("list paused"))
    assert "Ran: sequences paused." in answer


async def test_a_change_is_asked_for_and_made_by_a_click(served: BotWithService) -> None:
    active = [one["id"] for one in await served.sequences() if one["status"] == "active"]
    question = await served.bot.say("please stop all campaigns")
    assert "Nothing was changed yet." in texts(question)
    assert {await served.status(one) for one in active} == {"active"}


async def test_a_name_that_is_no_sequence_may_be_a_request(served: BotWithService) -> None:
    question = texts(await served.bot.say("pause everything"))
    assert "Run “pause all”?" in question
    answer = json.dumps(await served.bot.say("leads that bounced yesterday"))
    assert "Ran: leads bounced." in answer
    assert answer.index("takes no period") < answer.index("@"), "the limit is named before the leads"


async def test_what_is_half_understood_offers_the_nearest(served: BotWithService) -> None:
    answer = texts(await served.bot.say("who paused Q3 founders"))
    assert "Did you mean audit?" in answer


async def test_an_outsider_learns_no_name_of_a_workspace(served: BotWithService) -> None:
    known = texts(await served.bot.say("how is default doing", user=seed.EVA.id, channel=seed.SALES))
    unknown = texts(await served.bot.say("how is nowhere doing", user=seed.EVA.id, channel=seed.SALES))
    assert known.replace("default", "") == unknown.replace("nowhere", "")
