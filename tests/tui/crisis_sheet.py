"""The verdicts of the dashboard through a deliverability crisis, beside the truth of the service, as a table.

    python -m tests.tui.crisis_sheet

The truth is the states of the domains that the service's own database holds; the verdicts come from its API.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import aiohttp

from sandbox.service import Service
from shared.api import OutreachClient
from shared.domain.snapshot import SOURCES, Snapshot, refresh
from shared.domain.workspace_verdict import WorkspaceVerdict, judge_reading

ACCOUNT = "acme"
STEP_HOURS = 2
CRISIS_HOURS, RECOVERY_HOURS = 24, 144
"""Until the last domain that the scenario pauses is paused, and then until all have rested and warmed up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What was said at a moment, and what was so."""

    hours: int
    paused: frozenset[str]
    domains: int
    verdict: WorkspaceVerdict

    @property
    def row(self) -> str:
        truth = f"{len(self.paused)} of {self.domains} domains paused"
        words = f"{self.verdict.tone.value}: {self.verdict.text}"
        return f"| {self.hours} h | {truth} | {words} |"


@asynccontextmanager
async def crisis() -> AsyncIterator[Crisis]:
    async with (
        Service(port=0, scenario="deliverability-crisis", speed=0) as service,
        aiohttp.ClientSession() as http,
    ):
        client = OutreachClient(base_url=service.base_url, api_key=service.api_keys[ACCOUNT])
        async with client:
            yield Crisis(service, http, client)


class Crisis:
    """The account through its crisis, by the service's dials."""

    def __init__(self, service: Service, http: aiohttp.ClientSession, client: OutreachClient) -> None:
        self._control = service.control_url
        self._http = http
        self.client = client
        self.hours = 0

    async def advance(self, hours: int) -> None:
        self.hours += hours
        async with self._http.post(f"{self._control}/time", json={"advance": hours * 3600}) as answer:
            answer.raise_for_status()

    async def pause_everything(self) -> None:
        event = {"workspace": ACCOUNT, "kind": "domain.paused", "count": 20}
        async with self._http.post(f"{self._control}/events", json=event) as answer:
            answer.raise_for_status()

    async def look(self) -> Moment:
        async with self._http.get(f"{self._control}/state") as answer:
            states = {
                one["name"]: one["state"]
                for one in (await answer.json())["domains"]
                if "globex" not in one["name"]
            }
        now = datetime.now(UTC)
        found = await refresh(Snapshot(workspace=ACCOUNT), SOURCES["inboxes"], self.client, now=now)
        return Moment(
            hours=self.hours,
            paused=frozenset(name for name, state in states.items() if state == "paused"),
            domains=len(states),
            verdict=judge_reading(found.inboxes),
        )


async def moments() -> list[Moment]:
    """From calm through the crisis to all domains paused, and on until they have recovered."""
    async with crisis() as account:
        seen = [await account.look()]
        for _ in range(CRISIS_HOURS // STEP_HOURS):
            await account.advance(STEP_HOURS)
            seen.append(await account.look())
        await account.pause_everything()
        seen.append(await account.look())
        for _ in range(RECOVERY_HOURS // 12):
            await account.advance(12)
            seen.append(await account.look())
    return seen


def sheet(seen: list[Moment]) -> str:
    head = ("| after | the service | the dashboard |", "|---|---|---|")
    return "\n".join((*head, *(moment.row for moment in seen)))


if __name__ == "__main__":
    print(sheet(asyncio.run(moments())))  # noqa: T201 # a script
