"""The outreach service of the tests: the sandbox's, in this process, asked and changed over HTTP."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp

from sandbox.service import Service


class Account:
    """One workspace of a service. Its account changes by what a test and the product do alone."""

    def __init__(self, service: Service, http: aiohttp.ClientSession, *, workspace: str) -> None:
        self.workspace = workspace
        self.base_url: str = service.base_url
        self.key: str = service.api_keys[workspace]
        self._control = service.control_url
        self._http = http

    async def request(self, method: str, path: str, **body: Any) -> Any:
        """Ask the service as any program with the key does; the JSON of the answer."""
        headers = {"Authorization": f"Bearer {self.key}"}
        url = f"{self.base_url}{path}"
        async with self._http.request(method, url, headers=headers, json=body or None) as answer:
            answer.raise_for_status()
            return await answer.json() if answer.status != 204 else None

    async def sequences(self) -> list[dict[str, Any]]:
        """All sequences as the service lists them: `id`, `name`, `status`, `steps`."""
        body = await self.request("GET", "/sequences")
        return list(next(value for value in body.values() if isinstance(value, list)))

    async def sequence(self, named: str = "") -> dict[str, Any]:
        """The sequence of this id or name, or the first active one."""
        for one in await self.sequences():
            if named in {one["id"], one["name"]} or (not named and one["status"] == "active"):
                return one
        raise AssertionError(f"the service has no sequence {named!r}")

    async def is_paused(self, named: str) -> bool:
        return bool((await self.sequence(named))["status"] == "paused")

    async def change(self, named: str, status: str) -> None:
        """Change the status of a sequence behind the product's back: `active` or `paused`."""
        sequence = await self.sequence(named)
        await self.request("PATCH", f"/sequences/{sequence['id']}", status=status)

    async def control(self, method: str, path: str, **body: Any) -> Any:
        """Move what only a test can move: faults, events, the limit (`/control/...` of the sandbox)."""
        url = f"{self._control}/{path}"
        async with self._http.request(method, url, json=body or None) as answer:
            assert answer.status < 400, await answer.text()
            return await answer.json()

    async def fail(self, **fault: Any) -> None:
        """Have the service fail, as the sandbox's control document describes faults."""
        await self.control("POST", "faults", **fault)

    async def recover(self) -> None:
        """Clear all faults."""
        await self.control("DELETE", "faults")

    @property
    def environ(self) -> Mapping[str, str]:
        """The settings that lead to this account."""
        return {"OUTREACH_BASE_URL": self.base_url, "OUTREACH_API_KEY": self.key}


@contextlib.asynccontextmanager
async def open_account(*, workspace: str = "acme", **options: Any) -> AsyncIterator[Account]:
    """A service that stands still and limits nobody; `options` are those of the sandbox's `Service`."""
    timeout = aiohttp.ClientTimeout(total=60)
    async with (
        Service(**{"speed": 0, **options}) as service,
        aiohttp.ClientSession(timeout=timeout) as http,
    ):
        service.guard.limiter.change("off")
        yield Account(service, http, workspace=workspace)
