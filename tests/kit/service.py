"""The outreach service of the tests: the sandbox's, in this process, asked and changed over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from email.utils import formatdate
from typing import Any

import aiohttp
import httpx
import pytest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from sandbox.service import Service, ids


@dataclass
class _Answer:
    """An answer of an endpoint in place of the service's, so many times."""

    method: str
    path: re.Pattern[str]
    body: bytes
    status: int
    headers: Mapping[str, str]
    times: int | None


class _ScriptedService(Service):
    """The sandbox's service, which notes what it is asked and can be told what to answer."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.asked: list[str] = []
        self.answers: list[_Answer] = []
        self.changes: list[tuple[str, str]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = str(scope.get("path", ""))
        if scope["type"] == "http" and path.startswith("/v1"):
            place = path.removeprefix("/v1")
            self.asked.append(f"{scope['method']} {place}")
            if answer := self._take(scope["method"], place):
                headers = {"Content-Type": "application/json", **answer.headers}
                await Response(answer.body, answer.status, headers)(scope, receive, send)
                return
        await super().__call__(scope, receive, send)
        if scope.get("method") == "PATCH":
            key = path.rpartition("/")[2]
            sequences = self.account.sequences.values()
            self.changes += [(key, one.status) for one in sequences if ids.encode("sq", one.number) == key]

    def _take(self, method: str, path: str) -> _Answer | None:
        for one in self.answers:
            if one.method == method and one.path.fullmatch(path):
                if one.times is not None:
                    one.times -= 1
                    if not one.times:
                        self.answers.remove(one)
                return one
        return None


class Account:
    """One workspace of a service. Its account changes by what a test and the product do alone."""

    def __init__(self, service: _ScriptedService, http: aiohttp.ClientSession, *, workspace: str) -> None:
        self.workspace = workspace
        self._service = service
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
        """Clear all faults, and what `answer` has set."""
        self.forget_answers()
        await self.control("DELETE", "faults")

    def forget_answers(self) -> None:
        """Have every endpoint answer what is true again."""
        self._service.answers.clear()

    def answer(
        self,
        endpoint: str,
        body: Any,
        *,
        status: int = 200,
        times: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Have an endpoint, such as `PATCH /sequences/{id}`, answer this instead of what is true.

        The request is not carried out. `body` is JSON, or bytes as they are.
        """
        method, _, path = endpoint.partition(" ")
        pattern = re.compile(re.sub(r"\{\w+\}", "[^/]+", path))
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self._service.answers.append(_Answer(method, pattern, content, status, headers or {}, times))

    def asked(self, method: str = "", path: str = "") -> list[str]:
        """List the requests so far, as `PATCH /sequences/sq_1`, of this method and below this path."""
        return [
            one
            for one in self._service.asked
            if one.startswith(f"{method} " if method else "") and path in one
        ]

    @property
    def changes(self) -> list[tuple[str, str]]:
        """The changes of sequences that were carried out, by id and status."""
        return self._service.changes

    @property
    def keys(self) -> Mapping[str, str]:
        """The key of each workspace of the service."""
        return self._service.api_keys

    @property
    def resolvers(self) -> list[str]:
        """The addresses of the two resolvers that know the account's domains."""
        return self._service.dns_resolvers

    async def domains(self) -> list[str]:
        """The sending domains of all workspaces."""
        state = await self.control("GET", "state")
        return [one["name"] for one in state["domains"]]

    @property
    def environ(self) -> Mapping[str, str]:
        """The settings that lead to this account."""
        return {"OUTREACH_BASE_URL": self.base_url, "OUTREACH_API_KEY": self.key}


@contextlib.contextmanager
def _without_connections(service: _ScriptedService) -> Iterator[None]:
    """Have the product ask the service in this process without a connection: that is most of the work of a request.

    While there are faults, which may break a connection, there is one. How requests go over the wire has tests of its
    own (tests/client).
    """
    wire = httpx.AsyncHTTPTransport.handle_async_request
    direct = httpx.ASGITransport(app=service, raise_app_exceptions=False)
    # A shell's thread asks in the service's own loop: two threads would change the account at once.
    home = asyncio.get_running_loop()

    async def carry(transport: httpx.AsyncHTTPTransport, request: httpx.Request) -> httpx.Response:
        if service.guard.faults.listed() or not str(request.url).startswith(service.base_url):
            return await wire(transport, request)
        asked = asyncio.run_coroutine_threadsafe(direct.handle_async_request(request), home)
        answer = await asyncio.wrap_future(asked)
        answer.headers.setdefault("Date", formatdate(usegmt=True))
        return answer

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(httpx.AsyncHTTPTransport, "handle_async_request", carry)
        yield


@contextlib.asynccontextmanager
async def open_account(*, workspace: str = "acme", **options: Any) -> AsyncIterator[Account]:
    """A service that stands still and limits nobody; `options` are those of the sandbox's `Service`."""
    timeout = aiohttp.ClientTimeout(total=60)
    async with (
        _ScriptedService(**{"speed": 0, **options}) as service,
        aiohttp.ClientSession(timeout=timeout) as http,
    ):
        service.guard.limited = False
        with _without_connections(service):
            yield Account(service, http, workspace=workspace)
