"""One call of each endpoint."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from shared.api import OutreachClient

Call = Callable[[OutreachClient], Awaitable[Any]]

LEADS = {"data": [{"id": "ld_1", "email": "ada@x.io", "status": "active"}], "next_cursor": None}

EVERY_CALL: dict[str, Call] = {
    "GET /leads": lambda client: client.list_leads(),
    "POST /leads": lambda client: client.add_leads("sq_1", [{"email": "ada@x.io"}]),
    "DELETE /leads/{id}": lambda client: client.remove_lead("ld_1"),
    "GET /sequences": lambda client: client.list_sequences(),
    "PATCH /sequences/{id}": lambda client: client.pause_sequence("sq_1"),
    "GET /inboxes": lambda client: client.list_inboxes(),
    "GET /stats": lambda client: client.stats(),
    "POST /webhooks": lambda client: client.create_webhook("https://x.io/hook", ["lead.replied"]),
}
CHANGES = [name for name in EVERY_CALL if not name.startswith("GET")]
