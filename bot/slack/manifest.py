"""The app manifest, as Slack is to know the app: `manifest.yml` with the bot's own address.

The file is beside the package, in a checkout as in a wheel. Every scope has its reason beside it, for teams that review
the app.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ADDRESS = "https://YOUR-BOT.example/slack/events"
"""Stands in the file wherever Slack sends requests to the bot."""
_FILE = (Path(__file__).parents[2] / "manifest.yml").read_text(encoding="utf-8")
SCOPES = dict(re.findall(r"^ +- (\S+)  # (.+)$", _FILE, re.MULTILINE))
"""The reason of each scope."""
SPARE = {
    "im:write": "it can't find or update older reminders in direct messages",
    "channels:join": "it can't look for its own alerts in public channels where it wasn't invited",
    "chat:write.public": "it posts only in channels it was invited to",
}
"""Scopes without which less is convenient and nothing fails, and what is so without them."""


def render(address: str = ADDRESS, *, socket_mode: bool = False) -> str:
    """The manifest as YAML; over Socket Mode the app has no address."""
    if not socket_mode:
        return _FILE.replace(ADDRESS, address)
    lines = [line for line in _FILE.splitlines(keepends=True) if ADDRESS not in line]
    return "".join(lines).replace("socket_mode_enabled: false", "socket_mode_enabled: true")


def manifest(address: str = ADDRESS, *, socket_mode: bool = False) -> dict[str, Any]:
    """The manifest as data."""
    import yaml  # late: only a few commands of the shell need it

    app: dict[str, Any] = yaml.safe_load(render(address, socket_mode=socket_mode))
    return app
