"""blocks.validate, which checks before anything is posted (https://docs.slack.dev/reference/methods/blocks.validate)."""

from __future__ import annotations

import json
import re
from typing import Any

from sandbox.slack.errors import SlackError
from sandbox.slack.model import Json
from sandbox.slack.views import view_problems
from sandbox.slack.web_api.call import Call

_KINDS = ("blocks", "message", "view")
_POINTED = re.compile(r"(.*) \[json-pointer:([^\]]*)\]", re.DOTALL)


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
