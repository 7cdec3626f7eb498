"""An account whose rows a test writes down, in place of a client's connections.

For what the sandbox's account can't be: exact counts, fields that are missing, and answers that are held up between two
steps of a race. Everything else asks the sandbox (`tests.kit.service`).
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any
from urllib.parse import unquote

import httpx

from shared.api.client import OutreachClient
from tests.kit.clock import moment
from tests.kit.pace import NoPacing

BASE = "https://service.test/v1"
Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request that reached the service, with its query or its body; `by` is the process that sent it."""

    by: str
    method: str
    path: str
    values: Row

    @property
    def row(self) -> str:
        """The id at the end of the path."""
        return self.path.rpartition("/")[2]

    @property
    def status(self) -> str:
        return str(self.values.get("status", ""))


class Answer(Exception):
    """Raised by a hook: the service answers with this status."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(status)


async def pass_on(_request: Request) -> None:
    """Hold up nothing."""


@dataclass(kw_only=True)
class ScriptedAccount:
    """Answers as the document says, from rows; the hooks run before a request takes effect, and before its answer."""

    sequences: list[Row] = field(default_factory=list)
    inboxes: list[Row] = field(default_factory=list)
    leads: list[Row] = field(default_factory=list)
    stats: list[Row] = field(default_factory=list)
    """The rows of every grouping and day."""
    first_day: str = ""
    """Before it, as `2026-03-01`, nothing was sent."""
    requests: list[Request] = field(default_factory=list)
    applied: list[tuple[str, str]] = field(default_factory=list)
    """The changes of sequences, by id and status."""
    failing: dict[str, httpx.Response | Exception] = field(default_factory=dict)
    """What comes instead: of `GET /stats`, of all under `PATCH /sequences`, or of everything, as ``."""
    before: Callable[[Request], Awaitable[None]] = pass_on
    after: Callable[[Request], Awaitable[None]] = pass_on
    now: Callable[[], float] = lambda: moment().timestamp()
    """The time that answers are dated with."""

    def add(self, name: str, *, status: str = "active", steps: int = 3) -> str:
        """Add a sequence; returns its id."""
        key = f"sq_{len(self.sequences) + 1:04}"
        self.sequences.append({"id": key, "name": name, "status": status, "steps": steps})
        return key

    def sequence(self, key: str) -> Row:
        return next(one for one in self.sequences if one["id"] == key)

    def asked(self, method: str) -> list[str]:
        """The paths that were asked by this method, in order."""
        return [one.path for one in self.requests if one.method == method]

    def client(self, *, by: str = "", **options: Any) -> OutreachClient:
        """A client of this account that waits for no turn and, unless it is told otherwise, never tries again."""
        options = {"api_key": "key", "pacer": NoPacing(), "retries": 0, **options}
        return OutreachClient(base_url=BASE, transport=_Door(self, by), **options)

    async def respond(self, request: Request) -> httpx.Response:
        self.requests.append(request)
        place = f"{request.method} {request.path}"
        instead = next((one for key, one in self.failing.items() if place.startswith(key)), None)
        if isinstance(instead, Exception):
            raise instead
        try:
            await self.before(request)
            status, body = self.answer(request) if instead is None else (instead.status_code, None)
            await self.after(request)
        except Answer as answer:
            status, body = answer.status, {"error": {"code": "as_the_test_wishes"}}
        content = instead.content if instead else json.dumps(body).encode()
        headers = {**(instead.headers if instead else {}), "Date": formatdate(self.now(), usegmt=True)}
        return httpx.Response(status, headers=headers, content=content)

    def answer(self, request: Request) -> tuple[int, Any]:
        """Carry a request out."""
        if request.method == "GET":
            return 200, self._page(request.path.split("/")[1], request.values)
        if request.method == "POST":
            return 201, self._add_leads(request.values["leads"])
        rows = self.sequences if request.method == "PATCH" else self.leads
        row = next((one for one in rows if one["id"] == request.row), None)
        if row is None:
            return 404, {"error": {"code": "not_found", "message": "no such thing"}}
        if request.method == "DELETE":
            rows.remove(row)
            return 204, None
        row["status"] = request.status
        self.applied.append((request.row, request.status))
        return 200, row

    def _page(self, what: str, asked: Row) -> Row:
        rows: list[Row] = getattr(self, what, [])
        if what == "stats":
            rows = [] if asked.get("to", self.first_day) < self.first_day else rows
        if what != "leads":
            return {"data": rows, "next_cursor": None}
        filters = {key: asked[key] for key in ("status", "sequence_id") if key in asked}
        rows = [one for one in rows if all(one.get(key) == value for key, value in filters.items())]
        start, size = int(asked.get("cursor", 0)), int(asked.get("limit", 25))
        more = str(start + size) if len(rows) > start + size else None
        return {"data": rows[start : start + size], "next_cursor": more}

    def _add_leads(self, leads: list[Row]) -> Row:
        known = {one["email"] for one in self.leads}
        added = [one for one in leads if one["email"] not in known]
        skipped = [{"email": one["email"], "reason": "duplicate"} for one in leads if one not in added]
        # The document: newest first.
        self.leads[:0] = [{"id": f"ld_new{n}", "status": "active"} | one for n, one in enumerate(added)]
        return {"added": len(added), "skipped": skipped}


@dataclass
class _Door(httpx.AsyncBaseTransport):
    """How one process reaches the account."""

    account: ScriptedAccount
    by: str

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await self.account.respond(request_of(request, by=self.by))


def request_of(request: httpx.Request, *, by: str = "") -> Request:
    values = dict(request.url.params) | (json.loads(request.content) if request.content else {})
    path = unquote(request.url.path.removeprefix("/v1"))
    return Request(by=by, method=request.method, path=path, values=values)
