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
        self.dns_resolvers: list[str] = list(announcement["dns_resolvers"])
        """Two resolvers, as `host:port`, that answer for the account's sending domains."""

    @property
    def api_key(self) -> str:
        """The key of the first workspace."""
        return next(iter(self.api_keys.values()))

    @property
    def environment(self) -> dict[str, str]:
        """The variables that `outreach_client` and the `outreach` command read."""
        return {
            "OUTREACH_BASE_URL": self.base_url,
            "OUTREACH_API_KEY": self.api_key,
            "OUTREACH_DNS_RESOLVERS": ",".join(self.dns_resolvers),
        }

    def control(self, act: str, **body: Any) -> dict[str, Any]:
        """Any action of the control API, such as `events` or `faults`: docs/sandbox.md."""
        return self._control.post(act, **body)

    def advance(self, seconds: float) -> None:
        """Advance the time; returns when everything until then has happened."""
        self._control.post("time", advance=seconds)

    def change_dns(self, domain: str, change: str) -> None:
        """Make something different in a domain's zone, such as `second_spf` or `no_dmarc`: docs/sandbox.md."""
        self._control.post("dns/changes", domain=domain, change=change)

    def fail_dns(self, kind: str, **details: Any) -> None:
        """Let the resolvers fail, such as `servfail` or `timeout`; `details` as in docs/sandbox.md."""
        self._control.post("dns/faults", kind=kind, **details)

    def reset(self) -> None:
        """Reset the account to its first day."""
        self._control.post("reset", everything=True)
