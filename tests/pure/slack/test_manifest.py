from __future__ import annotations

import re

from bot.slack import manifest
from shared.commands import COMMANDS


def test_it_names_every_command_and_gives_a_reason_for_every_scope() -> None:
    app = manifest.manifest()
    (command,) = app["features"]["slash_commands"]
    assert command["usage_hint"].split(" | ") == list(COMMANDS)
    assert app["oauth_config"]["scopes"]["bot"] == list(manifest.SCOPES)


def test_the_platforms_limits_are_kept() -> None:
    app = manifest.manifest()
    display = app["display_information"]
    # Slack refuses an app beyond these: https://docs.slack.dev/reference/app-manifest
    assert 1 <= len(display["name"]) <= 35
    assert len(display["description"]) <= 140
    assert 174 <= len(display["long_description"]) <= 4000
    assert re.fullmatch(r"#[0-9a-f]{6}", display["background_color"])
    assert len(app["features"]["bot_user"]["display_name"]) <= 80
    for command in app["features"]["slash_commands"]:
        assert re.fullmatch(r"/[a-z0-9_-]{1,31}", command["command"])
        assert 1 <= len(command["description"]) <= 2000
        assert len(command["usage_hint"]) <= 1000
    assert app["_metadata"]["major_version"] in {1, 2}


def test_over_socket_mode_it_has_no_address() -> None:
    app = manifest.manifest(socket_mode=True)
    assert app["settings"]["socket_mode_enabled"] is True
    assert "url:" not in manifest.render(socket_mode=True)
    assert manifest.manifest()["oauth_config"]["scopes"] == app["oauth_config"]["scopes"]
