"""The whole sandbox in one block: the outreach service and the Slack stand-in, in the running event loop."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any, Self

from sandbox import SCENARIOS
from sandbox.service import Service


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxOptions:
    """How a sandbox is started; see `Service` and `SlackStandIn` for the meaning of each."""

    port: int = 0
    slack_port: int = 0
    dns_port: int = 0
    seed: int = 7
    speed: float = 1.0
    scenario: str = SCENARIOS[0]
    inboxes: int | None = None
    start: float | None = None
    bot_url: str = "http://127.0.0.1:3000"


class Sandbox:
    """The service and the stand-in while the block runs; `announcement` is what scripts need to know.

    Raises `ValueError`: an option has a value that cannot be; the sentence names what would be right.
    """

    def __init__(self, options: SandboxOptions | None = None) -> None:
        self._options = options or SandboxOptions()
        self.service = Service(
            port=self._options.port,
            dns_port=self._options.dns_port,
            inboxes=self._options.inboxes,
            seed=self._options.seed,
            speed=self._options.speed,
            scenario=self._options.scenario,
            now=self._options.start,
        )
        self._exits = contextlib.AsyncExitStack()
        self.announcement: dict[str, Any] = {}

    async def __aenter__(self) -> Self:
        from sandbox.slack.server import SlackStandIn

        async with contextlib.AsyncExitStack() as exits:
            service = await exits.enter_async_context(self.service)
            slack = await exits.enter_async_context(
                SlackStandIn(port=self._options.slack_port, bot_url=self._options.bot_url)
            )
            self.announcement = {
                "base_url": service.base_url,
                "api_keys": service.api_keys,
                "control_url": service.control_url,
                "dns_resolvers": service.dns_resolvers,
                **slack.announcement,
            }
            self._exits = exits.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._exits.aclose()
