"""What the demo's verifier does in Slack."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import aiohttp

from cli.demo.setup import Installation
from cli.demo.verification import Verifier
from sandbox.slack.server import SlackStandIn
from sandbox.slack.settings import Settings


async def test_the_verifiers_own_command_stays_out_of_the_channels() -> None:
    async with SlackStandIn(settings=Settings(request_url=None)) as slack, aiohttp.ClientSession() as http:
        announcement = {**slack.announcement, "control_url": ""}
        verifier = Verifier(cast("Installation", SimpleNamespace(announcement=announcement, http=http)))
        await verifier._try_command()
        texts = {one.name: len(one.everything()) for one in slack.workspace.channels.values()}
    assert {name for name, count in texts.items() if count} == {"dm-ben"}
