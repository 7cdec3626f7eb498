"""Faults of calls of the Web API, and of answers to a `response_url`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import ConfigDict, Field
from starlette.responses import HTMLResponse, JSONResponse, Response

from sandbox.faults import Fault
from sandbox.slack.errors import SlackError

RESPONSE_URL = "response_url"
Kind = Literal["status", "error", "rate_limited", "delay", "cut", "accept_then_cut", "garbage", "answer"]


class SlackFault(Fault):
    """A fault of one kind; with `delay` it happens so many seconds late."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    kind: Kind
    """`status`: an HTTP status. `error`: Slack's word. `rate_limited`: 429. `delay`: only late. `garbage`:
    half of a JSON. `answer`: any JSON. `cut`: nothing is done and the connection dropped. `accept_then_cut`:
    done, then dropped."""
    method: str = "*"
    """A Web API method, `response_url`, or `*` for all."""
    status: int = 500
    error: str = "internal_error"
    retry_after: int = 1
    """Seconds, of the kind `rate_limited`."""
    arguments: dict[str, Any] = Field(default_factory=dict)
    """Only calls that have these values, such as the updates of one message."""
    answer: Any = None
    """The JSON of the kind `answer`."""

    @property
    def cuts(self) -> bool:
        return self.kind in ("cut", "accept_then_cut")

    def matches(self, method: str, arguments: Mapping[str, Any]) -> bool:
        same = all(arguments.get(name) == value for name, value in self.arguments.items())
        return same and self.method in (method, "*")

    async def apply(self) -> Response | None:
        """Wait, then return what is answered instead of the method's answer; None: it runs.

        Raises `SlackError` where Slack itself refuses.
        """
        await asyncio.sleep(self.delay)
        match self.kind:
            case "error":
                raise SlackError(self.error)
            case "rate_limited":
                raise SlackError("ratelimited", retry_after=self.retry_after)
            case "status":
                page = f"<html><body><h1>{self.status}</h1></body></html>"
                return HTMLResponse(page, status_code=self.status)
            case "garbage":
                return Response('{"ok": true, "ts": "17', media_type="application/json")
            case "answer":
                return JSONResponse(self.answer)
            case "cut":
                return Response()
        return None
