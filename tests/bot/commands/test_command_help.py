"""`help` in Slack, without a command."""

from __future__ import annotations

from bot.commands import command_help
from bot.slack.permissions import Person
from shared.commands import COMMANDS, Face, Role
from tests.shared.doubles import open_harness


async def test_help_lists_every_command_of_slack_once() -> None:
    harness = open_harness()
    harness.role = Role.ADMIN
    async with harness.client:
        answer = await command_help.overview(harness.context, Person(id="U1", name="ann"))
    lines = "\n".join(answer.card.text).splitlines()
    listed = sorted(line.split("`")[1] for line in lines if line.startswith("`"))
    assert listed == sorted(one.name for one in COMMANDS.values() if Face.SLACK in one.faces)
