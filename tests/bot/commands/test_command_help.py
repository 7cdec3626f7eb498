"""`help` in Slack, without a command."""

from __future__ import annotations

from bot.commands import command_help
from bot.slack.permissions import Person
from shared.commands import COMMANDS, Face, Role
from tests.shared.doubles import open_harness


async def test_help_is_tasks_and_a_button_leads_to_every_command() -> None:
    harness = open_harness()
    async with harness.client:
        operator = await command_help.overview(harness.context, Person(id="U1", name="ann"))
        every = await harness.say("help all")
        harness.role = Role.READER
        reader = await command_help.overview(harness.context, Person(id="U1", name="ann"))
    assert operator.card.text[0] == "See what needs attention: `status` · `replies`"
    assert operator.card.text[1].startswith("Pause or resume: `pause SEQUENCE [for 2h] [reason …]`")
    labels = [button.label for button in operator.card.buttons]
    assert labels == ["Status", "Replies", "Pause …", "Subscribe …", "All commands"]
    assert [button.label for button in reader.card.buttons] == ["Status", "Replies", "All commands"]
    assert not any("Pause or resume" in text for text in reader.card.text)
    assert every.table
    listed = {str(row.cells[0]).split()[0] for row in every.table.rows}
    assert listed == {one.name for one in COMMANDS.values() if Face.SLACK in one.faces}
