"""The code that the pages show for the stand-in, run as it is written there."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from sandbox.slack.server import SlackStandIn
from tests.kit.docs_blocks import Block, blocks


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
    block = shown("sandbox.md")
    slack: SlackStandIn = (await run(block))["slack"]
    listed = block.text.partition("# ")[2].strip().split(", ")
    assert listed == list(slack.announcement)
