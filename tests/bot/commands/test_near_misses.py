"""A misspelled command in Slack: the answer's button runs exactly what was probably meant, with the same permissions."""

from __future__ import annotations

import json
from typing import Any

from sandbox.slack import seed
from tests.bot.commands.test_slash_commands import BotWithService, served
from tests.bot.harness import interested
from tests.waiting import until

__all__ = ["served"]


def texts(messages: list[dict[str, Any]]) -> str:
    return json.dumps([one["blocks"] for one in messages], ensure_ascii=False)


async def press(
    served: BotWithService, message: dict[str, Any], label: str, *, user: str
) -> list[dict[str, Any]]:
    at = {"channel": message["channel"], "ts": message["ts"], "text": label}
    return list((await served.bot.control("click", **at, user=user, wait=10))["answers"])


async def one_active(served: BotWithService) -> dict[str, Any]:
    return next(one for one in await served.sequences() if one["status"] == "active")


async def test_the_button_asks_for_the_permission_of_who_clicks(served: BotWithService) -> None:
    sequence = await one_active(served)
    line = f"resmue {sequence['id']}"
    (answer,) = await served.bot.say(line, user=seed.GUS.id)
    assert sequence["name"] not in texts([answer]), "who may not run it learns no name"
    (refused,) = await press(served, answer, f"Resume {sequence['id']}", user=seed.GUS.id)
    assert "don't have permission" in texts([refused])


async def test_a_misspelled_claim_is_offered_too(served: BotWithService) -> None:
    assert await served.bot.deliver(interested(1)) == 200
    await served.bot.until_posted(1)
    (answer,) = await served.bot.say("cliam Ada 1", user=seed.BEN.id)
    await press(served, answer, "Claim Ada 1", user=seed.BEN.id)

    async def is_claimed() -> bool:
        return any("claimed by" in texts([one]) for one in await served.bot.messages())

    await until(is_claimed)


async def test_home_and_forms_are_no_commands_to_type(served: BotWithService) -> None:
    for line in ("home", "form pause"):
        (answer,) = await served.bot.say(line, user=seed.BEN.id)
        assert "Unknown command" in answer["text"]
