"""The bot as its own process, with the settings of a shell and a Slack that does not answer."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from tests.cli.conftest import Shell
from tests.kit.ports import free_port


@contextmanager
def running_bot(shell: Shell) -> Iterator[str]:
    """Its address, once it is ready."""
    port = free_port()
    settings = {
        "OUTREACH_PORT": str(port),
        "OUTREACH_ALERT_CHANNEL": "C0123456789",
        "SLACK_BOT_TOKEN": "xoxb-nobody",
        "SLACK_SIGNING_SECRET": "nobody",
        # Nothing listens on port 9: a bot must start without Slack.
        "SLACK_API_URL": "http://127.0.0.1:9/api/",
    }
    for name, value in settings.items():
        shell.set(name, value)
    process = shell.spawn("bot", stdout=None, stderr=None)
    address = f"http://127.0.0.1:{port}"
    try:
        ends = time.monotonic() + 60
        while not _ready(address):
            assert process.poll() is None
            assert time.monotonic() < ends
            time.sleep(0.05)
        yield address
    finally:
        process.terminate()
        assert process.wait(60) == 0


def _ready(address: str) -> bool:
    try:
        return httpx.get(f"{address}/readyz").status_code == 200
    except httpx.TransportError:
        return False


def deliver(address: str, secret: str) -> int:
    body = b'{"event": "something.new"}'
    signature = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    headers = {"X-Service-Signature": signature}
    return httpx.post(f"{address}/webhooks/outreach", content=body, headers=headers).status_code
