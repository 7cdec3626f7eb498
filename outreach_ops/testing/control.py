"""Calls a control API from any thread, with only the standard library."""

from __future__ import annotations

import contextlib
import http.client
import json
import time
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

TIMEOUT_SECONDS = 40.0


class Refused(AssertionError):
    """The stand-in rejected an action, with the reason."""


class Control:
    """A control API; a connection for each call, so that no thread waits for another and nothing stays open."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._port, self._path = str(parts.hostname), parts.port, parts.path

    def get(self, what: str, **query: str) -> dict[str, Any]:
        """Read something; raises `Refused`."""
        return self._call("GET", f"{what}?{urlencode(query)}" if query else what, None)

    def post(self, act: str, **body: Any) -> dict[str, Any]:
        """Do something; raises `Refused`."""
        return self._call("POST", act, json.dumps(body))

    def _call(self, verb: str, path: str, body: str | None) -> dict[str, Any]:
        connection = http.client.HTTPConnection(self._host, self._port, timeout=TIMEOUT_SECONDS)
        headers = {"Connection": "close", **({"Content-Type": "application/json"} if body else {})}
        with contextlib.closing(connection):
            connection.request(verb, f"{self._path}/{path}", body, headers)
            response = connection.getresponse()
            answer: dict[str, Any] = json.loads(response.read())
        if response.status >= 400:
            raise Refused(str(answer.get("error") or answer))
        return answer


T = TypeVar("T")
DEFAULT_SECONDS = 5.0
_PAUSE_SECONDS = 0.02


def wait_for(find: Callable[[], T | None], *, seconds: float) -> T | None:
    """Call until the result isn't None; None after `seconds`."""
    deadline = time.monotonic() + seconds
    while (found := find()) is None and time.monotonic() < deadline:
        time.sleep(_PAUSE_SECONDS)
    return found
