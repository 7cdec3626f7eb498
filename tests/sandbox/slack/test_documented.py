"""The code that the pages show for the stand-in, run as it is written there."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from slack_bolt.async_app import AsyncApp

from sandbox.slack.server import SlackStandIn
from tests.docs_blocks import Block, blocks


def shown(page: str) -> Block:
    (block,) = (block for block in blocks("python") if block.page.name == page)
    return block


async def run(block: Block) -> dict[str, Any]:
    names: dict[str, Any] = {}
    code = compile(block.text, str(block.page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    waiting = eval(code, names)
    if inspect.isawaitable(waiting):
        await waiting
    return names


async def test_the_stand_in_starts_as_its_page_shows() -> None:
    block = shown("slack-stand-in.md")
    slack: SlackStandIn = (await run(block))["slack"]
    listed = block.text.partition("# ")[2].strip().split(", ")
    assert listed == list(slack.announcement)


async def test_a_test_asks_a_bot_as_the_how_to_shows(slack: SlackStandIn, running: AsyncApp) -> None:
    running.command("/outreach")(_answer)
    ask = (await run(shown("test-your-bot.md")))["ask"]
    answers = await ask(slack.announcement["slack_control_url"])
    assert [one["text"] for one in answers] == ["12 sequences"]


async def _answer(ack: Any, say: Any) -> None:
    await ack()
    await say("12 sequences")
