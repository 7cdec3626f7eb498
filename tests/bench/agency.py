"""An agency platform on one PostgreSQL: many workspaces and channels, a service and a Slack of a few lines each."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs

import sqlalchemy as sa

from bot.store import open_store
from shared.storage.database import parse_url
from tests.bot.harness import free_port
from tests.clock import moment

WORKSPACES, CHANNELS = 1_000, 10_000
PER_WORKSPACE = CHANNELS // WORKSPACES
SECRET = "bench"
NOBODY = json.dumps({"data": [], "next_cursor": None}).encode()


@dataclass(kw_only=True)
class Backend:
    """Slack and the outreach service: they answer everything, and count."""

    port: int
    posted: list[tuple[float, str]] = field(default_factory=list)
    """When each message came, and the name of the lead in it."""
    requests: Counter[str] = field(default_factory=Counter)
    """Of the service, by key."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One keep-alive connection."""
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                headers = {
                    name.lower(): value.strip()
                    for name, _, value in (line.partition(":") for line in head.split("\r\n")[1:])
                }
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                answer = self.answer(head.split(" ", 2)[1], headers, body)
                length = f"Content-Length: {len(answer)}\r\n\r\n"
                writer.write(
                    f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{length}".encode() + answer
                )
        writer.close()

    def answer(self, path: str, headers: dict[str, str], body: bytes) -> bytes:
        """The body of the answer to a request."""
        if not path.startswith("/api/"):
            self.requests[headers.get("authorization", "")] += 1
            return NOBODY
        now = moment().timestamp()
        if path.endswith("chat.postMessage"):
            text = body.decode()
            if "json" not in headers.get("content-type", ""):
                text = str(parse_qs(text))
            self.posted.append((now, text.partition("lead-")[2].partition("@")[0]))
        ts = f"{now:.6f}"
        return json.dumps({"ok": True, "ts": ts, "channel": "C0", "message": {"ts": ts}}).encode()


@contextlib.asynccontextmanager
async def backend() -> AsyncIterator[Backend]:
    """Slack and the service, in this process."""
    port = free_port()
    opened = Backend(port=port)
    server = await asyncio.start_server(opened.serve, "127.0.0.1", port, backlog=512)
    async with server:
        yield opened


def environment(folder: Path, *, database: str, backend_port: int) -> dict[str, str]:
    """What a bot of the agency is started with."""
    config = folder / "outreach.toml"
    tables = (
        f'[workspaces.w{n}]\napi_key = "key-{n}"\nwebhook_secret = "{SECRET}"\nalert_channel = "C0B{n:05}X0"\n'
        for n in range(WORKSPACES)
    )
    config.write_text(f'base_url = "http://127.0.0.1:{backend_port}/v1"\n\n' + "\n".join(tables))
    return {
        "OUTREACH_CONFIG": str(config),
        "OUTREACH_DATABASE_URL": database,
        "OUTREACH_LOG_LEVEL": "WARNING",
        "SLACK_BOT_TOKEN": "xoxb-bench",
        "SLACK_SIGNING_SECRET": "bench",
        "SLACK_API_URL": f"http://127.0.0.1:{backend_port}/api/",
        "XDG_STATE_HOME": str(folder),
    }


async def seed_agency(database: str, *, past: int) -> None:
    """Subscribe every channel to one sequence of its workspace, and give each a past of posted alerts."""
    workspace, channel = (
        f"'w' || (n / {PER_WORKSPACE})",
        f"'C0B' || lpad((n / {PER_WORKSPACE})::text, 5, '0')",
    )
    channel += f" || 'X' || (n % {PER_WORKSPACE})"
    at = "extract(epoch FROM now()) - 86400.0 - n * 60.0"
    channels, old = f"generate_series(0, {CHANNELS - 1}) AS s(n)", f"generate_series(1, {past}) AS s(n)"
    statements = (
        (
            "INSERT INTO subscriptions (workspace, channel, event, sequence)"
            f" SELECT {workspace}, {channel}, 'reply.interested', 'Sequence ' || (n % {PER_WORKSPACE})"
            f" FROM {channels} WHERE n % {PER_WORKSPACE} > 0"
        ),
        f"INSERT INTO channel_leases (channel) SELECT {channel} FROM {channels}",
        (
            "INSERT INTO deliveries (id, dkey, workspace, kind, body, received_at, last_at, before_at, seen, pending)"
            f" SELECT n, decode(md5(n::text), 'hex'), 'w' || (n % {WORKSPACES}), 'reply.interested', '{{}}'::bytea,"
            f" {at}, {at}, {at}, 1, false FROM {old}"
        ),
        (
            "INSERT INTO alerts (id, delivery_id, workspace, kind, email, received_at, handled_at)"
            f" SELECT 'al_old' || n, n, 'w' || (n % {WORKSPACES}), 'reply.interested', 'lead' || n, {at}, {at} FROM {old}"
        ),
        (
            "INSERT INTO posts (id, dedupe, workspace, channel, kind, alert_id, state, ts, created_at)"
            f" SELECT n, 'old' || n, 'w' || (n % {WORKSPACES}), 'C0B' || lpad((n % {WORKSPACES})::text, 5, '0') || 'X0',"
            f" 'alert', 'al_old' || n, 'sent', '1.' || n, {at} FROM {old}"
        ),
        *(f"SELECT setval(pg_get_serial_sequence('{t}', 'id'), {past + 1})" for t in ("deliveries", "posts")),
    )
    async with open_store(parse_url(database)) as store:
        with store.database.engine.begin() as connection:
            for statement in statements:
                connection.execute(sa.text(statement))
        with store.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM ANALYZE")


def delivery(number: int) -> bytes:
    """A whole signed request; each is another lead of another workspace, and is posted to two channels."""
    event = {
        "event": "reply.interested",
        "lead": {"email": f"lead-{number}@acme.example", "first_name": "Ada", "company": "Acme"},
        "sequence": f"Sequence {1 + number % (PER_WORKSPACE - 1)}",
        "step": 2,
        "inbox": "sam@mail.example",
        "reply": "y" * 500,
    }
    body = json.dumps(event).encode()
    signature = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    return (
        f"POST /webhooks/outreach/w{number * 7 % WORKSPACES} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"X-Service-Signature: {signature}\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body


async def send(port: int, request: bytes) -> float:
    """Deliver it over its own connection; the time of the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), head
    writer.close()
    return moment().timestamp()


async def until(condition: Callable[[], Awaitable[bool]], *, seconds: float) -> bool:
    """Wait for a condition; whether it was met in time."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if await condition():
            return True
        await asyncio.sleep(0.05)
    return False
