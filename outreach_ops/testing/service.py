"""Controls the outreach service from a test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from outreach_ops.testing.control import Control


class Service:
    """The embedded outreach service: connection data and control."""

    def __init__(self, announcement: Mapping[str, Any]) -> None:
        self._control = Control(announcement["control_url"])
        self.base_url: str = announcement["base_url"]
        self.api_keys: dict[str, str] = dict(announcement["api_keys"])
        """By workspace."""

    @property
    def api_key(self) -> str:
        """The key of the first workspace."""
        return next(iter(self.api_keys.values()))

    @property
    def environment(self) -> dict[str, str]:
        """The variables that `outreach_client` and the `outreach` command read."""
        return {"OUTREACH_BASE_URL": self.base_url, "OUTREACH_API_KEY": self.api_key}

    def control(self, act: str, **body: Any) -> dict[str, Any]:
        """Any action of the control API, such as `events` or `faults`: docs/sandbox.md."""
        return self._control.post(act, **body)

    def advance(self, seconds: float) -> None:
        """Advance the time; returns when everything until then has happened."""
        self._control.post("time", advance=seconds)

    def reset(self) -> None:
        """Reset the account to its first day."""
        self._control.post("reset", everything=True)
