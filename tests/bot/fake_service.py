"""A service of a few lines whose account a test writes down, and which fails when it is told to."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any

from aiohttp import web

from tests.kit.ports import free_port

KEY = "key-of-the-tests"


@dataclass(kw_only=True)
class Remote:
    """Sequences by id as the API tells them; `refuses` answers everything so, `gone` is listed and unknown."""

    url: str
    sequences: dict[str, dict[str, Any]] = field(default_factory=dict)
    inboxes: list[dict[str, Any]] = field(default_factory=list)
    leads: list[dict[str, Any]] = field(default_factory=list)
    asked: list[dict[str, str]] = field(default_factory=list)
    """The query of each GET /leads."""
    refuses: int = 0
    fails: dict[str, int] = field(default_factory=dict)
    """The status that answers a PATCH of a sequence."""
    seconds: float = 0.0
    """How long a PATCH takes."""
    patched: list[tuple[str, str]] = field(default_factory=list)
    stats: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict)
    """The rows of a grouping on one day: `("sequence", "2026-03-10")`."""
    now: Callable[[], float] | None = None
    """The time that its answers are dated with; None: the real one."""

    def add(self, name: str, *, status: str = "active", steps: int = 3) -> str:
        """One more sequence; returns its id."""
        key = f"sq_{len(self.sequences) + 1:04}"
        self.sequences[key] = {"id": key, "name": name, "status": status, "steps": steps}
        return key

    async def listed(self, request: web.Request) -> web.Response:
        """GET /sequences, /inboxes, and nothing else that a test needs."""
        if refusal := self._refusal(request):
            return refusal
        what = request.match_info["what"]
        if what == "leads":
            return await self._leads(dict(request.query))
        rows = {"sequences": list(self.sequences.values()), "inboxes": self.inboxes}.get(what, [])
        if what == "stats":
            rows = self.stats.get((request.query.get("group_by", ""), request.query.get("from", "")), [])
        dated = {"Date": formatdate(self.now(), usegmt=True)} if self.now else {}
        return web.json_response({"data": rows, "next_cursor": None}, headers=dated)

    async def _leads(self, query: dict[str, str]) -> web.Response:
        self.asked.append(query)
        fitting = [
            lead
            for lead in self.leads
            if query.get("status") in {None, lead["status"]}
            and query.get("sequence_id") in {None, lead["sequence_id"]}
        ]
        start, size = int(query.get("cursor", 0)), int(query["limit"])
        more = str(start + size) if len(fitting) > start + size else None
        return web.json_response({"data": fitting[start : start + size], "next_cursor": more})

    async def patch(self, request: web.Request) -> web.Response:
        """PATCH /sequences/{id}."""
        if refusal := self._refusal(request):
            return refusal
        await asyncio.sleep(self.seconds)
        name, status = request.match_info["name"], (await request.json())["status"]
        if name in self.fails:
            return _error(self.fails[name])
        if name not in self.sequences:
            return _error(404)
        self.patched.append((name, status))
        self.sequences[name]["status"] = status
        return web.json_response(self.sequences[name])

    def _refusal(self, request: web.Request) -> web.Response | None:
        if self.refuses:
            return _error(self.refuses)
        return None if request.headers.get("Authorization") == f"Bearer {KEY}" else _error(401)


CODES = {401: "unauthorized", 404: "not_found", 500: "internal"}


def _error(status: int) -> web.Response:
    error = {"code": CODES.get(status, "refused"), "message": "as the test wishes"}
    return web.json_response({"error": error}, status=status)


@contextlib.asynccontextmanager
async def open_remote(*names: str) -> AsyncIterator[Remote]:
    """Serving sequences of these names on a free port."""
    port = free_port()
    remote = Remote(url=f"http://127.0.0.1:{port}/v1")
    for name in names:
        remote.add(name)
    application = web.Application()
    application.router.add_get("/v1/{what}", remote.listed)
    application.router.add_patch("/v1/sequences/{name}", remote.patch)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        yield remote
    finally:
        await runner.cleanup()
