"""`help` in Slack, without a command."""

from __future__ import annotations

import re

from bot.commands import command_help
from bot.slack.permissions import Person
from shared.commands import COMMANDS, Face, Role
from shared.commands.tasks import ON_A_REPLY
from tests.shared.doubles import open_harness


async def test_help_lists_every_command_of_slack_once() -> None:
    harness = open_harness()
    harness.role = Role.ADMIN
    async with harness.client:
        answer = await command_help.overview(harness.context, Person(id="U1", name="ann"))
    code = re.findall("`([^`]+)`", "\n".join(answer.card.text))
    listed = sorted(
        syntax.split()[0] for syntax in code if syntax not in ON_A_REPLY and syntax != "help COMMAND"
    )
    assert listed == sorted(one.name for one in COMMANDS.values() if Face.SLACK in one.faces)


async def test_help_leads_with_tasks_and_has_five_buttons_at_most() -> None:
    harness = open_harness()
    async with harness.client:
        operator = await command_help.overview(harness.context, Person(id="U1", name="ann"))
        harness.role = Role.READER
        reader = await command_help.overview(harness.context, Person(id="U1", name="ann"))
    assert operator.card.text[0] == "▸ See what needs attention\n`status` · `replies`"
    assert "▸ Pause or resume\n`pause SEQUENCE [for 2h] [reason …]`" in operator.card.text[1]
    labels = [button.label for button in operator.card.buttons]
    assert labels == ["Status", "Replies", "Pause …", "Inboxes", "Subscribe …"]
    assert [button.label for button in reader.card.buttons] == ["Status", "Replies", "Inboxes"]
    assert not any("Pause or resume" in text for text in reader.card.text)
