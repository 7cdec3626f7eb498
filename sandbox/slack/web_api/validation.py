"""blocks.validate and apps.manifest.validate, which check before anything is posted.

https://docs.slack.dev/reference/methods/blocks.validate,
https://docs.slack.dev/reference/methods/apps.manifest.validate
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from sandbox.slack.errors import SlackError
from sandbox.slack.model import Json
from sandbox.slack.settings import Manifest
from sandbox.slack.views import view_problems
from sandbox.slack.web_api.call import Call

_KINDS = ("blocks", "message", "view")
_POINTED = re.compile(r"(.*) \[json-pointer:([^\]]*)\]", re.DOTALL)
MAX_NAME = 35


def blocks(call: Call) -> Json:
    """Check exactly one of blocks, a message and a view."""
    given = [kind for kind in _KINDS if call.args.get(kind)]
    if len(given) != 1:
        line = "must provide exactly one of `blocks`, `view`, or `message`"
        raise SlackError("invalid_arguments", messages=[line])
    kind = given[0]
    if found := _problems(call, kind, _parsed(call.args[kind])):
        raise SlackError(f"invalid_{kind}", extra={"errors": [_error(one) for one in found]})
    return {}


def _problems(call: Call, kind: str, value: Any) -> list[str]:
    check = call.workspace.block_problems
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
    except (ValueError, RecursionError) as error:
        raise SlackError("invalid_arguments", messages=["must be JSON"]) from error


def _error(line: str) -> Json:
    message, pointer = match.groups() if (match := _POINTED.fullmatch(line)) else (line, "")
    return {"code": "failed_constraint", "message": message, "pointer": pointer}


def manifest(call: Call) -> Json:
    """Check an app manifest."""
    given = _parsed(call.require("manifest"))
    try:
        errors = list(_manifest_problems(Manifest.model_validate(given)))
    except ValidationError as error:
        errors = [
            {"message": one["msg"], "pointer": "".join(f"/{part}" for part in one["loc"])}
            for one in error.errors()
        ]
    if errors:
        raise SlackError("invalid_manifest", extra={"errors": errors})
    return {"errors": []}


def _manifest_problems(manifest: Manifest) -> Iterator[Json]:
    settings = manifest.settings
    by_socket = settings.socket_mode_enabled
    if not 1 <= len(manifest.display_information.name) <= MAX_NAME:
        message = f"Name is required, of at most {MAX_NAME} characters"
        yield {"message": message, "pointer": "/display_information/name"}
    events = settings.event_subscriptions
    if events.bot_events and not (events.request_url or by_socket):
        message = "Event Subscription requires either Request URL or Socket Mode Enabled"
        yield {"message": message, "pointer": "/settings/event_subscriptions"}
    interactivity = settings.interactivity
    if interactivity.is_enabled and not (interactivity.request_url or by_socket):
        message = "Interactivity requires a Request URL"
        yield {"message": message, "pointer": "/settings/interactivity"}
    for place, command in enumerate(manifest.features.slash_commands):
        if not (command.url or by_socket):
            pointer = f"/features/slash_commands/{place}/url"
            yield {"message": "Slash command requires a URL", "pointer": pointer}
