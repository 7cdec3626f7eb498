"""blocks.validate and apps.manifest.validate: validation before posting.

Sources: docs.slack.dev/reference/methods/blocks.validate and apps.manifest.validate.
"""

from __future__ import annotations

import json
import re
from typing import Any

from sandbox.slack.blockkit.elements import plain
from sandbox.slack.state.errors import SlackError
from sandbox.slack.state.model import Json
from sandbox.slack.web_api.calls import Call, method
from sandbox.slack.world.views import view_problems

_KINDS = ("blocks", "message", "view")
_POINTED = re.compile(r"(?P<message>.*) \[json-pointer:(?P<pointer>[^\]]*)\]", re.DOTALL)
_REQUIRED_NAME = 35


@method("blocks.validate")
def validate_blocks(call: Call) -> Json:
    """Check exactly one of blocks, a message and a view."""
    given = [kind for kind in _KINDS if call.args.get(kind)]
    if len(given) != 1:
        text = "must provide exactly one of `blocks`, `view`, or `message`"
        raise SlackError("invalid_arguments", messages=[text])
    kind = given[0]
    found = _problems(call, kind, _parsed(call.args[kind]))
    if found:
        raise SlackError(f"invalid_{kind}", extra={"errors": [_error(one) for one in found]})
    return {}


def _problems(call: Call, kind: str, value: Any) -> list[str]:
    check = call.world.block_problems
    if kind == "blocks":
        return check(value, at="")
    if not isinstance(value, dict):
        return ["must be an object [json-pointer:]"]
    if kind == "message":
        return check(value.get("blocks") or [], at="/blocks")
    surface = "home" if value.get("type") == "home" else "modal"
    return view_problems(value, kind=surface, at="", check=check)


def _parsed(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError as error:
        raise SlackError("invalid_arguments", messages=["must be JSON"]) from error


def _error(text: str) -> Json:
    parts = _POINTED.fullmatch(text)
    message, pointer = (parts["message"], parts["pointer"]) if parts else (text, "")
    return {"code": "failed_constraint", "message": message, "pointer": pointer}


@method("apps.manifest.validate", config_token=True, tier=3)
def validate_manifest(call: Call) -> Json:
    """Check an app manifest; takes an app configuration token, as all of apps.manifest does."""
    manifest = _parsed(call.require("manifest"))
    if not isinstance(manifest, dict):
        raise SlackError("invalid_arguments", messages=["manifest must be an object"])
    errors = [{"message": message, "pointer": pointer} for message, pointer in _manifest_problems(manifest)]
    if errors:
        raise SlackError("invalid_manifest", extra={"errors": errors})
    return {"errors": []}


def _manifest_problems(manifest: Json) -> list[tuple[str, str]]:
    settings = manifest.get("settings") or {}
    socket = bool(settings.get("socket_mode_enabled"))
    found: list[tuple[str, str]] = []
    shown = {"type": "plain_text", "text": (manifest.get("display_information") or {}).get("name") or ""}
    if list(plain(_REQUIRED_NAME)(shown, "")):
        found.append(("Name is required, of at most 35 characters", "/display_information/name"))
    events = settings.get("event_subscriptions") or {}
    if events.get("bot_events") and not (events.get("request_url") or socket):
        message = "Event Subscription requires either Request URL or Socket Mode Enabled"
        found.append((message, "/settings/event_subscriptions"))
    interactivity = settings.get("interactivity") or {}
    if interactivity.get("is_enabled") and not (interactivity.get("request_url") or socket):
        found.append(("Interactivity requires a Request URL", "/settings/interactivity"))
    commands = (manifest.get("features") or {}).get("slash_commands") or ()
    for place, command in enumerate(commands):
        if not (command.get("url") or socket):
            found.append(("Slash command requires a URL", f"/features/slash_commands/{place}/url"))
    return found
