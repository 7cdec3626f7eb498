"""A command is one file: every face has it as soon as it lies in the folder of the commands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shared import commands
from shared.assistants.session import read_call, tools
from shared.commands.base import ALIASES, COMMANDS, discover
from tests.kit import Account, Shell, Team
from tests.kit.screen import Screen
from tools import docs_pages

SOURCE = '''
"""`weather`: says how it is."""

from shared.commands.base import Arguments
from shared.commands.base import Result
from shared.domain.card import Card


class Weather(Arguments):
    """Say how the weather is."""

    verb = "weather"
    aliases = ("sky",)
    own_fields = ("sky",)
    examples = ("weather",)

    async def run(self, context):
        return Result(card=Card(title=f"Fine, {context.actor.name}"), rows=({"sky": "blue"},))
'''


@pytest.fixture(autouse=True)
def one_file(tmp_path: Path) -> Iterator[None]:
    """Add the command, as a file in a folder of its own."""
    folder = tmp_path / "commands"
    folder.mkdir()
    (folder / "weather.py").write_text(SOURCE, encoding="utf-8")
    path = commands.__path__
    path.append(str(folder))
    discover(commands.__name__, path)
    yield
    # The table of commands is the process's own: the tests after this one must not know the weather.
    path.remove(str(folder))
    del COMMANDS["weather"], ALIASES["sky"]


async def test_slack_runs_a_command_of_one_file(team: Team) -> None:
    assert (await team.ask("weather")).title == "Fine, ann"
    assert (await team.ask("sky")).title == "Fine, ann"
    assert "Say how the weather is" in (await team.ask("help weather")).shown
    (offered,) = (await team.ask("wether")).buttons
    assert offered == "Weather"


async def test_a_shell_runs_a_command_of_one_file(account: Account, shell: Shell) -> None:
    shell.use(account.environ)
    run = await shell.type("weather", "--json")
    assert (run.code, run.data) == (0, [{"sky": "blue"}])
    assert "weather" in (await shell.type("--help")).out


async def test_the_dashboard_runs_a_command_of_one_file(screen: Screen) -> None:
    await screen.press("colon")
    await screen.type("weat")
    assert "Say how the weather is" in await screen.until("Say how")
    await screen.press("enter")
    assert "Fine, " in await screen.until("Fine, ")


def test_assistants_and_documents_know_a_command_of_one_file() -> None:
    assert "weather" in {one["name"] for one in tools()}
    assert read_call("weather", {}).arguments.verb == "weather"
    assert "Say how the weather is" in docs_pages.commands_page()
