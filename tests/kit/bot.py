"""A bot on a free port with a Slack that refuses what Slack refuses, for what a Team hides: no service, odd senders, a process."""

from __future__ import annotations

import json
from typing import Any

from sandbox.slack import seed

CHANNEL = seed.ALERTS


def interested(number: int = 0, **changes: Any) -> bytes:
    """A delivery of an interested reply; each number is another lead."""
    lead = {"email": f"ada{number}@acme.example", "first_name": f"Ada {number}", "company": "Acme"}
    event = {"event": "reply.interested", "lead": lead, "sequence": "Q3 founders", "step": 2}
    return json.dumps({**event, "reply": "Yes, call me.", "inbox": "sam@mail.example", **changes}).encode()
