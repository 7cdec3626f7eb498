"""Validates values for settings and manifests; errors name the field."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from sandbox.slack.state.errors import InvalidActionError

AUTH_TYPES = ("slack_identity_auth", "no_auth", "manual_auth", "dynamic_client_registration")
MOST_SERVERS, MOST_ADDRESS = 20, 500
_WORD = re.compile(r"[\x21-\x7e]{1,255}")


def section(body: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    """An object inside others, empty where it is not given."""
    found: Any = body
    for place, name in enumerate(path, start=1):
        found = found.get(name) or {}
        if not isinstance(found, Mapping):
            raise InvalidActionError(f"{'.'.join(path[:place])}: not an object")
    return found  # type: ignore[no-any-return]  # checked above


def objects(value: Any, at: str, *, key: str) -> tuple[dict[str, Any], ...]:
    """A list of objects that have a text called `key`."""
    rows = value or ()
    if not isinstance(rows, list | tuple):
        raise InvalidActionError(f"{at}: not a list")
    if not all(isinstance(one, dict) and isinstance(one.get(key), str) for one in rows):
        raise InvalidActionError(f"{at}: each an object with a {key}")
    return tuple(rows)


def words(value: Any, at: str) -> tuple[str, ...]:
    """A list of words: scopes, events, addresses."""
    found = value or ()
    if not isinstance(found, list | tuple | frozenset) or not all(
        isinstance(one, str) and _WORD.fullmatch(one) for one in found
    ):
        raise InvalidActionError(f"{at}: not a list of words")
    return tuple(found)


def tool_server(servers: Mapping[str, Any]) -> str:
    """The address of the first server that knows people by Slack's signature; empty: there is none.

    https://docs.slack.dev/reference/app-manifest
    """
    found = ""
    if len(servers) > MOST_SERVERS:
        raise InvalidActionError(f"mcp_servers: no more than {MOST_SERVERS}")
    for name, server in servers.items():
        known = server if isinstance(server, Mapping) else {}
        url = known.get("url")
        if not isinstance(url, str) or not url.startswith("https://") or len(url) > MOST_ADDRESS:
            raise InvalidActionError(f"mcp_servers.{name}.url: not an https address")
        if known.get("auth_type") not in AUTH_TYPES:
            raise InvalidActionError(f"mcp_servers.{name}.auth_type: one of {', '.join(AUTH_TYPES)}")
        found = found or (url if known["auth_type"] == AUTH_TYPES[0] else "")
    return found


def number(value: Any, at: str, *, kind: Callable[[Any], Any] = float) -> Any:
    """A finite number that is not negative."""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        found = -1.0
    if not 0 <= found < math.inf:
        raise InvalidActionError(f"{at}: not a number from 0 on")
    return kind(value)


def text(value: Any, at: str) -> str:
    """A short text on one line, without spaces around it."""
    found = value or ""
    if not isinstance(found, str) or len(found) > 200 or not found.isprintable():
        raise InvalidActionError(f"{at}: not a short text")
    return found.strip()
