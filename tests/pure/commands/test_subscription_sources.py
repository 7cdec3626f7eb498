"""All subscriptions of a channel: by command, by `[routes]`, as an alert channel; in every workspace."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from shared.commands import parse
from shared.commands.base import InChannel
from shared.settings import load
from tests.kit.commands import CommandHarness, Said, text

FILE = """
[workspaces.acme]
base_url = "https://api.example.com/v1"
api_key = "a"
alert_channel = "C1"
[workspaces.globex]
base_url = "https://api.example.com/v1"
api_key = "b"
[routes]
fallback = "C9"
mention = "S0SALESAES"
quiet = "20:00-08:00"
timezone = "Europe/Berlin"
[routes.channels.C1]
mention = "none"
quiet = "18:00-09:00"
timezone = "America/New_York"
[routes.channels.C2]
quiet = "off"
[[routes.rules]]
channel = "C1"
events = ["reply.ooo"]
sequence = "Q3 founders"
[[routes.rules]]
channel = "C1"
events = ["reply.interested", "lead.bounced"]
condensed = true
mention = "U0ANN00001"
workspace = "globex"
"""


Say = Callable[[str], Awaitable[Said]]


@pytest.fixture
def say(harness: CommandHarness, tmp_path: Path) -> Say:
    """Says something in the workspace acme, beside another one."""
    file = tmp_path / "outreach.toml"
    file.write_text(FILE)
    settings = load(config=file, environ={})

    async def said(line: str) -> Said:
        workspace = settings.workspace("globex" if line.endswith("@globex") else "acme")
        return await harness.say(line, settings=settings, workspace=workspace)

    return said


async def test_the_set_holds_what_the_settings_say_each_with_where_to_change_it(
    say: Say,
) -> None:
    for workspace in ("acme", "globex"):
        await say(f"subscribe lead.replied lead.bounced inbox=good.com @{workspace}")
    ended, rule = "unsubscribe bounces, replies domain=good.com", "the setting [[routes.rules]] no."
    assert (await say("subscriptions")).text[:6] == (
        f"Bounces and replies: only for good.com, in acme. To remove: {ended} @acme",
        f"Out-of-office replies: only for Q3 founders, in acme. To remove: {rule} 1",
        "Interested replies and paused domains: in acme. To remove: the setting alert_channel",
        f"Bounces and replies: only for good.com, in globex. To remove: {ended} @globex",
        f"Out-of-office replies: only for Q3 founders, in globex. To remove: {rule} 1",
        f"Interested replies and bounces: in globex, condensed. To remove: {rule} 2",
    )


async def test_a_button_that_ends_something_names_its_own_workspace_and_channel(
    say: Say,
) -> None:
    await say("subscribe lead.replied")
    card = await say("subscribe lead.replied @globex")
    commands = [parse(button.line) for button in card.buttons]
    assert [one.workspace for one in commands] == ["acme", "globex"]
    channels = {one.arguments.channel for one in commands if isinstance(one.arguments, InChannel)}
    assert channels == {"C1"}, "wherever the message is read"


async def test_the_quiet_hours_of_a_channel_are_shown(say: Say) -> None:
    assert "Quiet hours 18:00 to 09:00 America/New_York" in text(await say("subscriptions"))
    assert "Quiet" not in text(await say("subscriptions <#C2>"))
