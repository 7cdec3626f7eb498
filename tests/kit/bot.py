"""A bot on a free port with a Slack that refuses what Slack refuses, for what a Team hides: no service, odd senders, a process."""

from __future__ import annotations

import json
from typing import Any

import aiohttp

from sandbox.service import Service
from sandbox.slack import seed
from tests.kit.waiting import until

CHANNEL = seed.ALERTS


def interested(number: int = 0, **changes: Any) -> bytes:
    """A delivery of an interested reply; each number is another lead."""
    lead = {"email": f"ada{number}@acme.example", "first_name": f"Ada {number}", "company": "Acme"}
    event = {"event": "reply.interested", "lead": lead, "sequence": "Q3 founders", "step": 2}
    return json.dumps({**event, "reply": "Yes, call me.", "inbox": "sam@mail.example", **changes}).encode()


async def sequences_of(service: Service, *, http: aiohttp.ClientSession) -> list[dict[str, Any]]:
    """The sequences of the service's first workspace, once the bot leaves a request of the second for this one."""
    headers = {"Authorization": f"Bearer {next(iter(service.api_keys.values()))}"}

    async def listed() -> list[dict[str, Any]]:
        async with http.get(f"{service.base_url}/sequences", headers=headers) as answer:
            body = await answer.json()
            return next((value for value in body.values() if isinstance(value, list)), [])

    found: list[dict[str, Any]] = await until(listed)
    return found
